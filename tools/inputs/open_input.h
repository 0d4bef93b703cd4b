// OpenInput: from a path to the events in it, whatever of the known kinds it is.
//
// Ownership: results are the caller's. Threads: no shared state. Errors: one sentence that names
// the file, what is wrong with it and what to do. Units: bytes, nanoseconds.
#ifndef VRAMSTOW_TOOLS_INPUTS_OPEN_INPUT_H_
#define VRAMSTOW_TOOLS_INPUTS_OPEN_INPUT_H_

#include <cstddef>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "absl/status/statusor.h"
#include "tools/analysis/accounts/event_source.h"
#include "tools/inputs/curve.h"

namespace vramstow {

// Lets Progress know that a file is being read, one of several.
void BeginReading(const std::string& path, size_t number = 0, size_t count = 1);

// Events of a file. Not of a memory timeline, nor of a profiler trace without addresses: these
// have none.
absl::StatusOr<std::unique_ptr<EventSource>> OpenEvents(const std::string& path);

// The events; where the file has none, its curve.
using InputContent = std::variant<std::unique_ptr<EventSource>, LevelCurve>;
absl::StatusOr<InputContent> OpenInput(const std::string& path);

// The path itself, or of a folder the files in it, by name.
std::vector<std::string> FilesOf(const std::string& path);

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_INPUTS_OPEN_INPUT_H_
