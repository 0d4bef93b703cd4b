// What the stand-in for NVML knows of the devices: what the simulated driver in this process says.
//
// Idea: NVML watches devices without using them. It opens libcuda.so.1 and asks the simulator's own
// functions (simulator/simulator_api.h), which need no context and start nothing; no
// function of the CUDA driver API is called, so a process that only looks is no user of CUDA.
//
// Ownership: the table lives as long as the process. Threads: any. Errors: NVML's codes; under a
// driver that is not the simulator's NVML_ERROR_DRIVER_NOT_LOADED.
#ifndef VRAMSTOW_SIMULATOR_RUNTIME_LIBRARIES_NVML_DEVICES_H_
#define VRAMSTOW_SIMULATOR_RUNTIME_LIBRARIES_NVML_DEVICES_H_

#include <cstdint>
#include <vector>

#include "simulator/runtime/libraries/nvml/api.h"
#include "simulator/simulator_api.h"

// A handle's target: only its place in the table matters.
struct nvmlDevice_st {
  char unused;
};

namespace vramstow::simulator {

using DeviceReport = vramstowSimulatorDeviceReport;
using DeviceProcess = vramstowSimulatorProcess;

// Looks for the driver; true if it is the simulator's and its SPEC is right.
bool FindDriver();

// Counts calls of nvmlInit and nvmlShutdown, which come in pairs.
void NoteInit();
bool NoteShutdown();  // false: there was no init
bool IsInitialized();

int DeviceCount();
nvmlDevice_t HandleOf(int index);
// The device's index, negative if it is no handle.
int IndexOf(nvmlDevice_t device);

// The checks of every function that asks about a device, and the device's report.
nvmlReturn_t Report(nvmlDevice_t device, DeviceReport* report);

// The processes that hold memory of the device.
nvmlReturn_t ListProcesses(nvmlDevice_t device, std::vector<DeviceProcess>* processes);

// Copies `text` into the caller's `length` bytes; NVML_ERROR_INSUFFICIENT_SIZE if it does not fit.
nvmlReturn_t CopyText(const char* text, char* target, unsigned length);

// Stores `value` where the caller wants it; NVML_ERROR_INVALID_ARGUMENT if that is nowhere.
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
