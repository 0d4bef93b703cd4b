// Driver: whether a command would find a CUDA driver, a real one or the simulated one.
//
// Ownership: copies. Threads: one at a time. Errors: one sentence, for the user. Units: none.
// Nothing is initialised: the libraries are only opened and asked for names.
#ifndef VRAMSTOW_TOOLS_LAUNCH_DRIVER_H_
#define VRAMSTOW_TOOLS_LAUNCH_DRIVER_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace vramstow {

// Whether libcuda.so.1 can be opened and is a driver.
absl::Status CheckDriver();

// A function that the simulated driver in this folder exports beside the driver's own
// (simulator/simulator_api.h). The driver stays open.
absl::StatusOr<void*> SimulatorFunction(const std::string& simulator_directory, const char* name);

// Asks the simulated driver in this folder about a SPEC. Its description of the cards in one line;
// for "help" the list of cards and options. kInvalidArgument: the SPEC is wrong.
absl::StatusOr<std::string> CheckSimulator(const std::string& simulator_directory,
                                           const std::string& spec);

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_LAUNCH_DRIVER_H_
