// KeptFunctions: what native frames are called, kept in the trace that has them.
//
// Idea: a trace names native frames by library and offset, and only a machine that has the library
// can say what lies there. So whoever reads a trace first, on the machine where it was made, looks
// up all of them and adds them to the file: then it tells the same everywhere.
//
// Ownership: none. Threads: any; one at a time for a file. Errors: a status that names the file,
// which then is as it was. Units: milliseconds. Source of the format: docs/trace-format.md (record
// 22).
#ifndef VRAMSTOW_TOOLS_SYMBOLS_KEPT_FUNCTIONS_H_
#define VRAMSTOW_TOOLS_SYMBOLS_KEPT_FUNCTIONS_H_

#include <chrono>
#include <string>

#include "absl/status/status.h"

namespace vramstow {

// Adds the functions of all native frames to a closed trace that has none yet; those that `most`
// leaves no time for stay as they are. Ok: also where there is nothing to do.
absl::Status KeepFunctions(const std::string& path, std::chrono::milliseconds most);

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_SYMBOLS_KEPT_FUNCTIONS_H_
