// KeepFunctions adds the names of native frames' functions to a trace.
//
// Idea: a trace names native frames by library and offset, and only a machine that has the library
// can find their functions. So the first reader of a trace, on the machine where it was made, looks
// up all of them and adds them to the file. After that, every machine shows the same names.
//
// Ownership: none. Threads: any; one at a time for a file. Errors: returns a status that names the
// file, which is then unchanged. Units: milliseconds. Source of the format: docs/trace-format.md
// (record 22).
#ifndef VRAMSTOW_TOOLS_SYMBOLS_KEPT_FUNCTIONS_H_
#define VRAMSTOW_TOOLS_SYMBOLS_KEPT_FUNCTIONS_H_

#include <chrono>
#include <string>

#include "absl/status/status.h"

namespace vramstow {

// Adds the functions of all native frames to a closed trace that has none yet. Frames that cannot
// be looked up within `most` are left as they are. Also returns Ok if there is nothing to do.
absl::Status KeepFunctions(const std::string& path, std::chrono::milliseconds most);

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_SYMBOLS_KEPT_FUNCTIONS_H_
