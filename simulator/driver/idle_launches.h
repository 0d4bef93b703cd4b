// Launches that had no effect, for the list at exit that kernels=list asks for.
//
// Ownership: one list for the process. Threads: the driver's lock. Errors: none. Units: none.
#ifndef VRAMSTOW_SIMULATOR_DRIVER_IDLE_LAUNCHES_H_
#define VRAMSTOW_SIMULATOR_DRIVER_IDLE_LAUNCHES_H_

#include <string>

#include "simulator/driver/state.h"

namespace vramstow::simulator {

// Counts a launch without effect. The reason lives as long as the process.
void NoteIdleLaunch(const State& state, const std::string& kernel, const char* reason);

// A text that lives as long as the process: marks of uncomputed ranges refer to it, and reasons are
// kept by address.
const char* LastingName(const std::string& name);

}  // namespace vramstow::simulator

#endif  // VRAMSTOW_SIMULATOR_DRIVER_IDLE_LAUNCHES_H_
