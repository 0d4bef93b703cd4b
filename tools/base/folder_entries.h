// EntriesOf: lists a folder as far as it can be read.
//
// Idea: a range-based for over std::filesystem::directory_iterator throws if a later entry cannot
// be read, even if its constructor was given an error_code. This happens in /proc when a process
// ends in the meantime, and on network file systems. Use this where a part of the list is of use.
//
// Ownership: the result is a copy. Threads: callable from any thread. Errors: the list ends at the
// first one. Units: none.
#ifndef VRAMSTOW_TOOLS_BASE_FOLDER_ENTRIES_H_
#define VRAMSTOW_TOOLS_BASE_FOLDER_ENTRIES_H_

#include <filesystem>
#include <system_error>
#include <vector>

namespace vramstow {

inline std::vector<std::filesystem::path> EntriesOf(const std::filesystem::path& folder) {
  std::vector<std::filesystem::path> entries;
  std::error_code error;
  std::filesystem::directory_iterator at(folder, error);
  for (; !error && at != std::filesystem::directory_iterator(); at.increment(error)) {
    entries.push_back(at->path());
  }
  return entries;
}

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_BASE_FOLDER_ENTRIES_H_
