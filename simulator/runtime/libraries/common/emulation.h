// How a stand-in gives one of its kernels an effect: what the simulated driver does when the
// kernel's turn comes on its stream.
//
// Idea: the simulated driver exports functions for this beside cu*; on any other driver they are
// not there, and kernels stay without effect. An effect runs in stream order, with the driver's
// lock held, and may not call the driver.
//
// Threads: any. Errors: false or null. Units: bytes, virtual nanoseconds.
#ifndef VRAMSTOW_SIMULATOR_RUNTIME_LIBRARIES_COMMON_EMULATION_H_
#define VRAMSTOW_SIMULATOR_RUNTIME_LIBRARIES_COMMON_EMULATION_H_

#include <cstddef>
#include <cstdint>

#include "simulator/simulator_api.h"

namespace vramstow::simulator {

using EmulationLaunch = vramstowSimulatorLaunch;
using Emulation = vramstowSimulatorKernel;

// From now on the kernel of this name, launched with LaunchWork, does what `emulation` does. False:
// the driver is not the simulated one.
bool RegisterEmulation(const char* kernel, Emulation emulation, uint64_t duration_ns);

// The argument words of LaunchWork.
inline const uint64_t* WordsOf(const EmulationLaunch* launch) {
  return static_cast<const uint64_t*>(launch->parameters[0]);
}

// Where `bytes` of device memory lie in this process, inside an effect. Null: they are no memory
// that a kernel may touch.
void* DeviceBytes(uint64_t address, size_t bytes, bool write);

}  // namespace vramstow::simulator

#endif  // VRAMSTOW_SIMULATOR_RUNTIME_LIBRARIES_COMMON_EMULATION_H_
