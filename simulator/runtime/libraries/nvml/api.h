// Declares the part of NVIDIA's management library that the stand-in implements, from its public
// documentation: no package with CUDA headers contains nvml.h, so the types are declared here.
//
// Ownership: callers provide the memory for every answer. Threads: any. Errors: returns an
// nvmlReturn_t. Units: bytes, MHz, milliwatts, degrees Celsius, percent.
#ifndef VRAMSTOW_SIMULATOR_RUNTIME_LIBRARIES_NVML_API_H_
#define VRAMSTOW_SIMULATOR_RUNTIME_LIBRARIES_NVML_API_H_

#include <cstdint>

// Names are NVIDIA's, since these are its types.
// NOLINTBEGIN(readability-identifier-naming)
extern "C" {

typedef enum {
  NVML_SUCCESS = 0,
  NVML_ERROR_UNINITIALIZED = 1,
  NVML_ERROR_INVALID_ARGUMENT = 2,
  NVML_ERROR_NOT_SUPPORTED = 3,
  NVML_ERROR_NO_PERMISSION = 4,
  NVML_ERROR_NOT_FOUND = 6,
  NVML_ERROR_INSUFFICIENT_SIZE = 7,
  NVML_ERROR_DRIVER_NOT_LOADED = 9,
  NVML_ERROR_LIBRARY_NOT_FOUND = 12,
  NVML_ERROR_FUNCTION_NOT_FOUND = 13,
  NVML_ERROR_ARGUMENT_VERSION_MISMATCH = 25,
  NVML_ERROR_UNKNOWN = 999,
} nvmlReturn_t;

// A device handle: the address of an entry of the stand-in's table.
typedef struct nvmlDevice_st* nvmlDevice_t;

typedef struct {
  unsigned long long total;
  unsigned long long free;
  unsigned long long used;
} nvmlMemory_t;

typedef struct {
  unsigned version;
  unsigned long long total;
  unsigned long long reserved;
  unsigned long long free;
  unsigned long long used;
} nvmlMemory_v2_t;

typedef struct {
  unsigned long long bar1Total;
  unsigned long long bar1Free;
  unsigned long long bar1Used;
} nvmlBAR1Memory_t;

typedef struct {
  unsigned pid;
  unsigned long long usedGpuMemory;
} nvmlProcessInfo_v1_t;

typedef struct {
  unsigned pid;
  unsigned long long usedGpuMemory;
  unsigned gpuInstanceId;
  unsigned computeInstanceId;
} nvmlProcessInfo_t;

typedef struct {
  char busIdLegacy[16];
  unsigned domain;
  unsigned bus;
  unsigned device;
  unsigned pciDeviceId;
  unsigned pciSubSystemId;
  char busId[32];
} nvmlPciInfo_t;

typedef struct {
  unsigned version;
  unsigned domain;
  unsigned bus;
  unsigned device;
  unsigned pciDeviceId;
  unsigned pciSubSystemId;
  unsigned baseClass;
  unsigned subClass;
  char busId[32];
} nvmlPciInfoExt_t;

typedef struct {
  unsigned gpu;
  unsigned memory;
} nvmlUtilization_t;

typedef struct {
  unsigned version;
  unsigned sensorType;
  int temperature;
} nvmlTemperature_t;

typedef union {
  double dVal;
  unsigned uiVal;
  unsigned long ulVal;
  unsigned long long ullVal;
  long long sllVal;
  int siVal;
  unsigned short usVal;
} nvmlValue_t;

typedef struct {
  unsigned fieldId;
  unsigned scopeId;
  long long timestamp;
  long long latencyUsec;
  unsigned valueType;
  nvmlReturn_t nvmlReturn;
  nvmlValue_t value;
} nvmlFieldValue_t;

typedef struct {
  unsigned char clusterUuid[16];
  nvmlReturn_t status;
  unsigned cliqueId;
  unsigned char state;
} nvmlGpuFabricInfo_t;

typedef struct {
  unsigned version;
  unsigned char clusterUuid[16];
  nvmlReturn_t status;
  unsigned cliqueId;
  unsigned char state;
  unsigned healthMask;
} nvmlGpuFabricInfoV_t;

typedef struct {
  unsigned environment;
  unsigned ccFeature;
  unsigned devToolsMode;
} nvmlConfComputeSystemState_t;

// The state of confidential computing. All fields are 0: there is no environment, the feature and
// the developer tools mode are off, and there is no mode for several GPUs.
typedef struct {
  unsigned version;
  unsigned environment;
  unsigned ccFeature;
  unsigned devToolsMode;
  unsigned multiGpuMode;
} nvmlSystemConfComputeSettings_t;

}  // extern "C"
// NOLINTEND(readability-identifier-naming)

// An exported function of the library.
#define VRAMSTOW_NVML extern "C" __attribute__((visibility("default")))

#endif  // VRAMSTOW_SIMULATOR_RUNTIME_LIBRARIES_NVML_API_H_
