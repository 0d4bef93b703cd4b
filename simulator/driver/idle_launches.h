// Counts launches that had no effect, for the list that kernels=list prints at exit.
//
// Ownership: one list for the process. Threads: the caller holds the driver's lock. Errors: none.
// Units: none.
#ifndef VRAMSTOW_SIMULATOR_DRIVER_IDLE_LAUNCHES_H_
#define VRAMSTOW_SIMULATOR_DRIVER_IDLE_LAUNCHES_H_

#include <string>

#include "simulator/driver/state.h"

namespace vramstow::simulator {

// Counts a launch without effect. The reason lives as long as the process.
void NoteIdleLaunch(const State& state, const std::string& kernel, const char* reason);

// Returns a copy of the text that lives as long as the process. The marks of bytes that were not
// computed refer to such copies, and reasons are compared by address.
const char* LastingName(const std::string& name);

}  // namespace vramstow::simulator

#endif  // VRAMSTOW_SIMULATOR_DRIVER_IDLE_LAUNCHES_H_
