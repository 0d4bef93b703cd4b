// OpenInput opens a file of any known kind and returns its events.
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
#include "tools/inputs/stacked_source.h"

namespace vramstow {

// Reports to Progress that file `number` of `count` files is being read.
void BeginReading(const std::string& path, size_t number = 0, size_t count = 1);

// Opens the events of a file. A memory timeline and a profiler trace without addresses have no
// events, which is an error.
absl::StatusOr<std::unique_ptr<EventSource>> OpenEvents(
    const std::string& path, NameLookup lookup = NameLookup::kAllLibraries);

// Opens the events of a file. If it has no events, returns its curve of bytes over time.
using InputContent = std::variant<std::unique_ptr<EventSource>, LevelCurve>;
absl::StatusOr<InputContent> OpenInput(const std::string& path,
                                       NameLookup lookup = NameLookup::kAllLibraries);

// If the path is a folder, returns the files in it, sorted by name. Otherwise returns the path
// itself.
std::vector<std::string> FilesOf(const std::string& path);

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_INPUTS_OPEN_INPUT_H_
