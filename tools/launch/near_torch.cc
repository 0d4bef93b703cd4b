#include "tools/launch/near_torch.h"

#include <unistd.h>

#include <algorithm>
#include <filesystem>

#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "tools/base/folder_entries.h"

namespace vramstow {
namespace {

namespace fs = std::filesystem;

void AddIfTorch(const fs::path& packages, std::vector<std::string>* found) {
  std::error_code error;
  const fs::path folder = fs::canonical(packages / "torch", error);
  if (error || !fs::exists(folder / "lib/libc10_cuda.so", error)) return;
  if (std::ranges::find(*found, folder.string()) == found->end()) {
    found->push_back(folder.string());
  }
}

// Returns the folder of the command. A symbolic link is not resolved, because the Python of a
// virtual environment is a link to a Python elsewhere.
fs::path FolderOf(const std::string& command, const std::string& path) {
  if (command.find('/') != std::string::npos) return fs::path(command).parent_path();
  for (const absl::string_view folder : absl::StrSplit(path, ':')) {
    const fs::path file = fs::path(folder.empty() ? "." : std::string(folder)) / command;
    if (access(file.c_str(), X_OK) == 0) return file.parent_path();
  }
  return {};
}

}  // namespace

std::vector<std::string> FindTorchOnSearchPath(const std::string& program,
                                               const std::string& command,
                                               const std::string& path) {
  std::vector<std::string> found;
  // The layout of a wheel is PACKAGES/vramstow/native/bin/vramstow.
  const fs::path native = fs::path(program).parent_path().parent_path();
  if (native.filename() == "native") AddIfTorch(native.parent_path().parent_path(), &found);
  const fs::path folder = FolderOf(command, path);
  if (folder.empty()) return found;
  for (const fs::path& entry : EntriesOf(folder / "../lib")) {
    if (entry.filename().string().starts_with("python3")) {
      AddIfTorch(entry / "site-packages", &found);
    }
  }
  return found;
}

}  // namespace vramstow
