// Implements the use of a device: memory and processes. The figures come from the simulated driver,
// which counts all processes that share the simulated GPU.
#include <vector>

#include "simulator/runtime/libraries/nvml/devices.h"

namespace vramstow::simulator {
namespace {

// Lists the processes that use memory of the device in the caller's array.
template <typename Info>
nvmlReturn_t Processes(nvmlDevice_t device, unsigned* count, Info* infos) {
  std::vector<DeviceProcess> processes;
  const nvmlReturn_t result = ListProcesses(device, &processes);
  if (result != NVML_SUCCESS || count == nullptr) {
    return result != NVML_SUCCESS ? result : NVML_ERROR_INVALID_ARGUMENT;
  }
  const unsigned room = *count;
  *count = static_cast<unsigned>(processes.size());
  if (processes.empty()) {
    return NVML_SUCCESS;
  }
  if (room < processes.size()) {
    return NVML_ERROR_INSUFFICIENT_SIZE;
  }
  if (infos == nullptr) {
    return NVML_ERROR_INVALID_ARGUMENT;
  }
  constexpr unsigned kNoInstance = 0xffffffff;
  for (unsigned i = 0; i < *count; ++i) {
    infos[i].pid = static_cast<unsigned>(processes[i].process);
    infos[i].usedGpuMemory = processes[i].bytes;
    if constexpr (sizeof(Info) == sizeof(nvmlProcessInfo_t)) {
      infos[i].gpuInstanceId = kNoInstance;
      infos[i].computeInstanceId = kNoInstance;
    }
  }
  return NVML_SUCCESS;
}

nvmlReturn_t NoProcesses(nvmlDevice_t device, unsigned* count) {
  DeviceReport report;
  const nvmlReturn_t result = Report(device, &report);
  return result == NVML_SUCCESS ? Store(count, 0) : result;
}

}  // namespace
}  // namespace vramstow::simulator

using namespace vramstow::simulator;  // NOLINT(google-build-using-namespace): the C API's own file

VRAMSTOW_NVML nvmlReturn_t nvmlDeviceGetMemoryInfo(nvmlDevice_t device, nvmlMemory_t* memory) {
  DeviceReport report;
  const nvmlReturn_t result = Report(device, &report);
  return result == NVML_SUCCESS ? Store(memory, nvmlMemory_t{report.total_bytes,
                                                             report.total_bytes - report.used_bytes,
                                                             report.used_bytes})
                                : result;
}

VRAMSTOW_NVML nvmlReturn_t nvmlDeviceGetMemoryInfo_v2(nvmlDevice_t device,
                                                      nvmlMemory_v2_t* memory) {
  DeviceReport report;
  const nvmlReturn_t result = Report(device, &report);
  if (result != NVML_SUCCESS || memory == nullptr) {
    return result != NVML_SUCCESS ? result : NVML_ERROR_INVALID_ARGUMENT;
  }
  constexpr unsigned kVersion = sizeof(nvmlMemory_v2_t) | 2u << 24;
  if (memory->version != kVersion) {
    return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
  }
  memory->total = report.total_bytes;
  memory->reserved = 0;
  memory->used = report.used_bytes;
  memory->free = report.total_bytes - report.used_bytes;
  return NVML_SUCCESS;
}

// The window through which the processor accesses device memory (BAR1) is large enough for all of
// the memory.
VRAMSTOW_NVML nvmlReturn_t nvmlDeviceGetBAR1MemoryInfo(nvmlDevice_t device,
                                                       nvmlBAR1Memory_t* memory) {
  DeviceReport report;
  const nvmlReturn_t result = Report(device, &report);
  unsigned long long window = 1;
  while (result == NVML_SUCCESS && window < report.total_bytes) {
    window *= 2;
  }
  return result == NVML_SUCCESS ? Store(memory, nvmlBAR1Memory_t{window, window, 0}) : result;
}

VRAMSTOW_NVML nvmlReturn_t nvmlDeviceGetComputeRunningProcesses(nvmlDevice_t device,
                                                                unsigned* count,
                                                                nvmlProcessInfo_v1_t* infos) {
  return Processes(device, count, infos);
}
VRAMSTOW_NVML nvmlReturn_t nvmlDeviceGetComputeRunningProcesses_v2(nvmlDevice_t device,
                                                                   unsigned* count,
                                                                   nvmlProcessInfo_t* infos) {
  return Processes(device, count, infos);
}
VRAMSTOW_NVML nvmlReturn_t nvmlDeviceGetComputeRunningProcesses_v3(nvmlDevice_t device,
                                                                   unsigned* count,
                                                                   nvmlProcessInfo_t* infos) {
  return Processes(device, count, infos);
}

#define VRAMSTOW_NO_PROCESSES(name)                                                        \
  VRAMSTOW_NVML nvmlReturn_t name(nvmlDevice_t device, unsigned* count, void* /*infos*/) { \
    return NoProcesses(device, count);                                                     \
  }
VRAMSTOW_NO_PROCESSES(nvmlDeviceGetGraphicsRunningProcesses)
VRAMSTOW_NO_PROCESSES(nvmlDeviceGetGraphicsRunningProcesses_v2)
VRAMSTOW_NO_PROCESSES(nvmlDeviceGetGraphicsRunningProcesses_v3)
VRAMSTOW_NO_PROCESSES(nvmlDeviceGetMPSComputeRunningProcesses)
VRAMSTOW_NO_PROCESSES(nvmlDeviceGetMPSComputeRunningProcesses_v2)
VRAMSTOW_NO_PROCESSES(nvmlDeviceGetMPSComputeRunningProcesses_v3)

// Utilization is not modelled: a simulated device is never busy in wall-clock time.
VRAMSTOW_NVML nvmlReturn_t nvmlDeviceGetUtilizationRates(nvmlDevice_t device,
                                                         nvmlUtilization_t* utilization) {
  DeviceReport report;
  const nvmlReturn_t result = Report(device, &report);
  return result == NVML_SUCCESS ? Store(utilization, nvmlUtilization_t{0, 0}) : result;
}
