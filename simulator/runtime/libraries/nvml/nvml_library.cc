// Implements NVML as a whole: start and end, versions, error texts, and the functions about the
// system.
#include <cstdio>

#include "simulator/runtime/libraries/common/refusal.h"
#include "simulator/runtime/libraries/nvml/devices.h"

namespace vramstow::simulator {

const LibraryIdentity kLibrary = {"NVML", NVML_ERROR_NOT_SUPPORTED, "NVML_ERROR_NOT_SUPPORTED"};

namespace {

// The driver release that contains CUDA 13.2, whose version the simulator reports.
constexpr char kDriverVersion[] = "595.45.04";
constexpr char kNvmlVersion[] = "13.595.45.04";
constexpr int kCudaDriverVersion = 13020;

nvmlReturn_t Start() {
  if (!FindDriver()) {
    return NVML_ERROR_DRIVER_NOT_LOADED;
  }
  NoteInit();
  return NVML_SUCCESS;
}

}  // namespace
}  // namespace vramstow::simulator

using namespace vramstow::simulator;  // NOLINT(google-build-using-namespace): the C API's own file

VRAMSTOW_NVML nvmlReturn_t nvmlInit(void) { return Start(); }
VRAMSTOW_NVML nvmlReturn_t nvmlInit_v2(void) { return Start(); }
VRAMSTOW_NVML nvmlReturn_t nvmlInitWithFlags(unsigned /*flags*/) { return Start(); }

VRAMSTOW_NVML nvmlReturn_t nvmlShutdown(void) {
  return NoteShutdown() ? NVML_SUCCESS : NVML_ERROR_UNINITIALIZED;
}

VRAMSTOW_NVML const char* nvmlErrorString(nvmlReturn_t result) {
  switch (result) {
    case NVML_SUCCESS:
      return "Success";
    case NVML_ERROR_UNINITIALIZED:
      return "Uninitialized";
    case NVML_ERROR_INVALID_ARGUMENT:
      return "Invalid Argument";
    case NVML_ERROR_NOT_SUPPORTED:
      return "Not Supported";
    case NVML_ERROR_NO_PERMISSION:
      return "Insufficient Permissions";
    case NVML_ERROR_NOT_FOUND:
      return "Not Found";
    case NVML_ERROR_INSUFFICIENT_SIZE:
      return "Insufficient Size";
    case NVML_ERROR_DRIVER_NOT_LOADED:
      return "Driver Not Loaded";
    case NVML_ERROR_LIBRARY_NOT_FOUND:
      return "Library Not Found";
    case NVML_ERROR_FUNCTION_NOT_FOUND:
      return "Function Not Found";
    case NVML_ERROR_ARGUMENT_VERSION_MISMATCH:
      return "Argument Version Mismatch";
    default:
      return "Unknown Error";
  }
}

VRAMSTOW_NVML nvmlReturn_t nvmlSystemGetDriverVersion(char* version, unsigned length) {
  return IsInitialized() ? CopyText(kDriverVersion, version, length) : NVML_ERROR_UNINITIALIZED;
}

VRAMSTOW_NVML nvmlReturn_t nvmlSystemGetNVMLVersion(char* version, unsigned length) {
  return IsInitialized() ? CopyText(kNvmlVersion, version, length) : NVML_ERROR_UNINITIALIZED;
}

VRAMSTOW_NVML nvmlReturn_t nvmlSystemGetCudaDriverVersion(int* version) {
  return Store(version, kCudaDriverVersion);
}

VRAMSTOW_NVML nvmlReturn_t nvmlSystemGetCudaDriverVersion_v2(int* version) {
  return Store(version, kCudaDriverVersion);
}

VRAMSTOW_NVML nvmlReturn_t nvmlSystemGetProcessName(unsigned pid, char* name, unsigned length) {
  if (!IsInitialized()) {
    return NVML_ERROR_UNINITIALIZED;
  }
  if (name == nullptr || length == 0) {
    return NVML_ERROR_INVALID_ARGUMENT;
  }
  char path[32];
  snprintf(path, sizeof(path), "/proc/%u/cmdline", pid);
  FILE* file = fopen(path, "re");
  if (file == nullptr) {
    return NVML_ERROR_NOT_FOUND;
  }
  const size_t read = fread(name, 1, length - 1, file);
  fclose(file);
  name[read] = '\0';  // the first argument, the program, ends with a zero byte
  return NVML_SUCCESS;
}

// Reports that there is no confidential computing.
VRAMSTOW_NVML nvmlReturn_t nvmlSystemGetConfComputeState(nvmlConfComputeSystemState_t* state) {
  return IsInitialized() ? Store(state, nvmlConfComputeSystemState_t{}) : NVML_ERROR_UNINITIALIZED;
}

VRAMSTOW_NVML nvmlReturn_t
nvmlSystemGetConfComputeSettings(nvmlSystemConfComputeSettings_t* settings) {
  if (!IsInitialized()) return NVML_ERROR_UNINITIALIZED;
  if (settings == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
  constexpr unsigned kVersion = sizeof(nvmlSystemConfComputeSettings_t) | 1u << 24;
  if (settings->version != kVersion) return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
  *settings = {};
  settings->version = kVersion;
  return NVML_SUCCESS;
}
