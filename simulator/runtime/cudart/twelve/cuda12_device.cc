// Implements device properties and versions as CUDA 12 has them, and the functions that CUDA 13
// removed.
#include <cstddef>
#include <cstring>

#include "simulator/runtime/cudart/message.h"
#include "simulator/runtime/cudart/twelve/abi.h"

namespace {

constexpr int kRuntimeVersion = 12080;
constexpr cudaDeviceAttr kNoAttribute = static_cast<cudaDeviceAttr>(0);

// cudaDeviceProp with the layout of CUDA 12.
struct Properties {
#define IN_BOTH(type, name, count) type name[count];
#define ONLY_12(name, attribute) int name;
#include "simulator/runtime/cudart/twelve/properties.def"
#undef IN_BOTH
#undef ONLY_12
  int reserved[63];
};
static_assert(sizeof(Properties) == 1032, "driver_types.h of CUDA 12.8");

int Attribute(cudaDeviceAttr attribute, int device) {
  int value = 0;
  if (attribute != kNoAttribute) cudaDeviceGetAttribute(&value, attribute, device);
  return value;
}

cudaError_t RefuseOnce(bool* said, const char* name) {
  if (!__atomic_exchange_n(said, true, __ATOMIC_RELAXED)) {
    vramstow::simulator::cudart::Log("the simulated CUDA runtime does not support ", name, ".");
  }
  return cudaErrorNotSupported;
}

}  // namespace

VRAMSTOW_THIRTEEN(cudaGetDeviceProperties, cudaDeviceProp*, int);
VRAMSTOW_THIRTEEN(cudaEventElapsedTime, float*, cudaEvent_t, cudaEvent_t);

VRAMSTOW_TWELVE(cudaGetDeviceProperties_v2, Properties* properties, int device) {
  cudaDeviceProp newer;
  if (properties == nullptr) return cudaErrorInvalidValue;
  const cudaError_t error = Thirteen_cudaGetDeviceProperties(&newer, device);
  if (error != cudaSuccess) return error;
  *properties = {};
#define IN_BOTH(type, name, count)                               \
  static_assert(sizeof(properties->name) == sizeof(newer.name)); \
  memcpy(&properties->name, &newer.name, sizeof(properties->name));
#define ONLY_12(name, attribute) properties->name = Attribute(attribute, device);
#include "simulator/runtime/cudart/twelve/properties.def"
#undef IN_BOTH
#undef ONLY_12
  return cudaSuccess;
}

// The function without the suffix _v2 is the one of CUDA 11. Its structure is the beginning of CUDA
// 12's structure.
VRAMSTOW_TWELVE(cudaGetDeviceProperties, Properties* properties, int device) {
  constexpr size_t kOlderBytes = offsetof(Properties, hostRegisterSupported);
  Properties newer;
  if (properties == nullptr) return cudaErrorInvalidValue;
  const cudaError_t error = Twelve_cudaGetDeviceProperties_v2(&newer, device);
  if (error == cudaSuccess) memcpy(properties, &newer, kOlderBytes);
  return error;
}

VRAMSTOW_TWELVE(cudaRuntimeGetVersion, int* version) {
  if (version == nullptr) return cudaErrorInvalidValue;
  *version = kRuntimeVersion;
  return cudaSuccess;
}

VRAMSTOW_TWELVE(cudaEventElapsedTime, float* milliseconds, cudaEvent_t start, cudaEvent_t end) {
  return Thirteen_cudaEventElapsedTime(milliseconds, start, end);
}
VRAMSTOW_TWELVE(cudaEventElapsedTime_v2, float* milliseconds, cudaEvent_t start, cudaEvent_t end) {
  return Thirteen_cudaEventElapsedTime(milliseconds, start, end);
}

// The functions named cudaThread… have been the same as those named cudaDevice… since CUDA 4.
VRAMSTOW_TWELVE(cudaThreadExit) { return cudaDeviceReset(); }
VRAMSTOW_TWELVE(cudaThreadSynchronize) { return cudaDeviceSynchronize(); }
VRAMSTOW_TWELVE(cudaThreadGetLimit, size_t* value, cudaLimit limit) {
  return cudaDeviceGetLimit(value, limit);
}
VRAMSTOW_TWELVE(cudaThreadSetLimit, cudaLimit limit, size_t value) {
  return cudaDeviceSetLimit(limit, value);
}
VRAMSTOW_TWELVE(cudaThreadGetCacheConfig, cudaFuncCache* config) {
  return cudaDeviceGetCacheConfig(config);
}
VRAMSTOW_TWELVE(cudaThreadSetCacheConfig, cudaFuncCache config) {
  return cudaDeviceSetCacheConfig(config);
}

// All simulated GPUs have double precision, so there is nothing to convert.
VRAMSTOW_TWELVE(cudaSetDoubleForDevice, double* value) {
  return value == nullptr ? cudaErrorInvalidValue : cudaSuccess;
}
VRAMSTOW_TWELVE(cudaSetDoubleForHost, double* value) {
  return value == nullptr ? cudaErrorInvalidValue : cudaSuccess;
}

VRAMSTOW_TWELVE(cudaLaunchCooperativeKernelMultiDevice, void* /*launches*/, unsigned /*count*/,
                unsigned /*flags*/) {
  static bool said = false;
  return RefuseOnce(&said, "cudaLaunchCooperativeKernelMultiDevice");
}

// Defines the functions of CUDA 11 for external semaphores, which have shorter structures. The
// functions of CUDA 12 have the suffix _v2.
#define VRAMSTOW_OLD_SEMAPHORES(name)                                                     \
  VRAMSTOW_TWELVE(name, const void* /*semaphores*/, const void* /*parameters*/, unsigned, \
                  cudaStream_t) {                                                         \
    static bool said = false;                                                             \
    return RefuseOnce(&said, #name);                                                      \
  }
VRAMSTOW_OLD_SEMAPHORES(cudaSignalExternalSemaphoresAsync)
VRAMSTOW_OLD_SEMAPHORES(cudaSignalExternalSemaphoresAsync_ptsz)
VRAMSTOW_OLD_SEMAPHORES(cudaWaitExternalSemaphoresAsync)
VRAMSTOW_OLD_SEMAPHORES(cudaWaitExternalSemaphoresAsync_ptsz)
