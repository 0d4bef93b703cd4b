#include "tools/launch/package_folders.h"

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "base/python_file.h"

namespace vramstow {
namespace {

// True if pip has installed a package into the folder: it writes a folder with this ending for
// each. A project that is edited in place has it elsewhere.
bool HasPackages(const std::filesystem::path& folder) {
  std::error_code error;
  for (std::filesystem::directory_iterator entry(folder, error), end; !error && entry != end;
       entry.increment(error)) {
    if (absl::EndsWith(entry->path().native(), ".dist-info")) return true;
  }
  return false;
}

// True for the current folder, and for the folder of a file that the command names.
bool HoldsProgram(const std::filesystem::path& folder, const std::vector<std::string>& command) {
  std::error_code error;
  if (std::filesystem::equivalent(folder, std::filesystem::current_path(error), error)) return true;
  return std::ranges::any_of(command, [&](const std::string& word) {
    const std::filesystem::path file(word);
    return std::filesystem::is_regular_file(file, error) &&
           std::filesystem::equivalent(folder, std::filesystem::absolute(file).parent_path(),
                                       error);
  });
}

}  // namespace

std::string PackageFoldersOf(const std::string& python_path,
                             const std::vector<std::string>& command) {
  std::vector<std::string> folders;
  for (const absl::string_view entry : absl::StrSplit(python_path, ':', absl::SkipEmpty())) {
    std::error_code error;
    const std::filesystem::path folder =
        std::filesystem::absolute(std::filesystem::path(std::string(entry)), error)
            .lexically_normal();
    if (error || IsInstalledPython(folder.native() + "/") || HoldsProgram(folder, command) ||
        !HasPackages(folder)) {
      continue;
    }
    folders.push_back(folder.native());
    if (folders.back().ends_with('/')) folders.back().pop_back();
  }
  return absl::StrJoin(folders, ":");
}

}  // namespace vramstow
