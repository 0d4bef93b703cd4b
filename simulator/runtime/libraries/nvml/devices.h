// Reads the state of the devices from the simulated driver in this process.
//
// Idea: NVML monitors devices without using them. It opens libcuda.so.1 and calls the simulator's
// own functions (simulator/simulator_api.h), which need no context and start nothing. It calls no
// function of the CUDA driver API, so a process that only monitors does not use CUDA.
//
// Ownership: the table lives as long as the process. Threads: any. Errors: NVML's codes;
// NVML_ERROR_DRIVER_NOT_LOADED if the driver is not the simulated one.
#ifndef VRAMSTOW_SIMULATOR_RUNTIME_LIBRARIES_NVML_DEVICES_H_
#define VRAMSTOW_SIMULATOR_RUNTIME_LIBRARIES_NVML_DEVICES_H_

#include <cstdint>
#include <vector>

#include "simulator/runtime/libraries/nvml/api.h"
#include "simulator/simulator_api.h"

// The target of a handle; only its position in the table matters.
struct nvmlDevice_st {
  char unused;
};

namespace vramstow::simulator {

using DeviceReport = vramstowSimulatorDeviceReport;
using DeviceProcess = vramstowSimulatorProcess;

// Searches for the driver. True if it is the simulated one and its SPEC is right.
bool FindDriver();

// Count calls of nvmlInit and nvmlShutdown, which come in pairs.
void NoteInit();
bool NoteShutdown();  // returns false if there was no init
bool IsInitialized();

int DeviceCount();
nvmlDevice_t HandleOf(int index);
// Returns the device's index, or a negative number if the handle is not valid.
int IndexOf(nvmlDevice_t device);

// Does the checks of every function that queries a device, and returns the device's report.
nvmlReturn_t Report(nvmlDevice_t device, DeviceReport* report);

// Lists the processes that use memory of the device.
nvmlReturn_t ListProcesses(nvmlDevice_t device, std::vector<DeviceProcess>* processes);

// Copies `text` into the caller's `length` bytes; NVML_ERROR_INSUFFICIENT_SIZE if it does not fit.
nvmlReturn_t CopyText(const char* text, char* target, unsigned length);

// Stores `value` in *target; returns NVML_ERROR_INVALID_ARGUMENT if `target` is null.
template <typename T, typename V>
nvmlReturn_t Store(T* target, V value) {
  if (target == nullptr) {
    return NVML_ERROR_INVALID_ARGUMENT;
  }
  *target = static_cast<T>(value);
  return NVML_SUCCESS;
}

}  // namespace vramstow::simulator

#endif  // VRAMSTOW_SIMULATOR_RUNTIME_LIBRARIES_NVML_DEVICES_H_
