// The newest trace of a folder: what a command takes that was given no input.
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
  uint64_t count = 0;  // of traces in the folder, this one too
};

// The trace (.stow) that was written last. Copies that were made while a process ran (-oom.stow,
// -dump.stow) hold a part of what is in another file, and count only where there is nothing else.
absl::StatusOr<NewestTrace> FindNewestTrace(const std::string& folder);

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_INPUTS_NEWEST_TRACE_H_
