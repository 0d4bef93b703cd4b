// Finds the newest trace of a folder, which a command reads if it was given no input.
//
// Ownership: none. Threads: any. Errors: one sentence. Units: none.
#ifndef VRAMSTOW_TOOLS_INPUTS_NEWEST_TRACE_H_
#define VRAMSTOW_TOOLS_INPUTS_NEWEST_TRACE_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"

namespace vramstow {

struct NewestTrace {
  std::string path;
  uint64_t count = 0;  // number of traces in the folder, including this one
};

// Returns the trace (.stow) that was written last. A copy that was made while a process ran
// (-oom.stow, -dump.stow, -dump-2.stow) contains a part of another file, so it is used only if the
// folder has no other trace of its process.
absl::StatusOr<NewestTrace> FindNewestTrace(const std::string& folder);

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_INPUTS_NEWEST_TRACE_H_
