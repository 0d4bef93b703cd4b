// Driver: checks whether a command would find a CUDA driver, a real or the simulated one.
//
// Ownership: the results are copies. Threads: used by one thread at a time. Errors: one sentence,
// for the user. Units: none. Nothing is initialised: the libraries are only opened and searched for
// symbols.
#ifndef VRAMSTOW_TOOLS_LAUNCH_DRIVER_H_
#define VRAMSTOW_TOOLS_LAUNCH_DRIVER_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace vramstow {

// Returns OK if libcuda.so.1 can be opened and is a driver.
absl::Status CheckDriver();

// Returns a function that the simulated driver in this folder exports beside the driver API
// (simulator/simulator_api.h). The driver's library stays open.
absl::StatusOr<void*> SimulatorFunction(const std::string& simulator_directory, const char* name);

// Asks the simulated driver in this folder about a SPEC. Returns one line that describes the cards.
// For the SPEC "help", returns the list of cards and options. Returns kInvalidArgument if the SPEC
// is wrong.
absl::StatusOr<std::string> CheckSimulator(const std::string& simulator_directory,
                                           const std::string& spec);

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_LAUNCH_DRIVER_H_
