#include "tools/launch/adapter_folder.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "absl/strings/str_cat.h"
#include "tools/base/folder_entries.h"
#include "tools/launch/adapter_kind.h"
#include "tools/launch/file_text.h"
#include "tools/launch/user_cache.h"

namespace vramstow {
namespace {

namespace fs = std::filesystem;

constexpr char kTorchSuffix[] = ".folder";

std::string TorchFileOf(const std::string& adapter) { return adapter + kTorchSuffix; }

std::string LockFileOf(const std::string& adapter) { return adapter + ".lock"; }

// Returns the path of the folder, which may not exist. Returns an empty path if the user's cache is
// unknown.
fs::path PathOf(const std::string& wanted) {
  if (!wanted.empty()) return wanted;
  return UserCacheFolder();
}

// Returns the names of files with this suffix.
std::vector<std::string> ListFiles(const std::string& folder, const std::string& suffix) {
  std::vector<std::string> found;
  for (const fs::path& entry : EntriesOf(folder)) {
    const std::string name = entry.filename();
    if (name.starts_with(kAdapterPrefix) && name.ends_with(suffix)) found.push_back(entry);
  }
  std::sort(found.begin(), found.end());
  return found;
}

std::vector<std::string> NotesOfOthers(const std::string& folder) {
  std::vector<std::string> notes = ListFiles(folder, TorchFileOf(kAdapterSuffix));
  std::erase_if(notes, [](const std::string& note) {
    const std::string adapter = note.substr(0, note.size() - std::strlen(kTorchSuffix));
    return access(adapter.c_str(), F_OK) == 0;
  });
  return notes;
}

}  // namespace

absl::StatusOr<AdapterFolder> AdapterFolder::Locate(const std::string& wanted) {
  const fs::path folder = PathOf(wanted);
  if (folder.empty()) {
    return absl::FailedPreconditionError(
        "there is no folder for compiled adapters, because HOME is not set: name one with "
        "VRAMSTOW_ADAPTER_DIR.");
  }
  std::error_code error;
  const fs::path absolute = fs::absolute(folder, error);
  if (error) {
    return absl::FailedPreconditionError(
        absl::StrCat("the folder for compiled adapters, ", folder.string(), ", cannot be found (",
                     error.message(), "): name another one with VRAMSTOW_ADAPTER_DIR."));
  }
  return AdapterFolder(absolute.string());
}

absl::StatusOr<AdapterFolder> AdapterFolder::Make(const std::string& wanted) {
  auto folder = Locate(wanted);
  if (!folder.ok()) return folder.status();
  std::error_code error;
  fs::create_directories(folder->path(), error);
  if (error || access(folder->path().c_str(), W_OK | X_OK) != 0) {
    return absl::FailedPreconditionError(
        absl::StrCat("cannot write compiled adapters into ", folder->path(), " (",
                     error ? error.message() : strerror(errno),
                     "): name another folder with VRAMSTOW_ADAPTER_DIR."));
  }
  return folder;
}

AdapterFolder AdapterFolder::Existing(const std::string& wanted) {
  const fs::path folder = PathOf(wanted);
  std::error_code error;
  const bool is_there = !folder.empty() && fs::is_directory(folder, error);
  return AdapterFolder(is_there ? fs::absolute(folder).string() : "");
}

std::vector<std::string> AdapterFolder::List() const { return ListFiles(path_, kAdapterSuffix); }

std::vector<std::string> AdapterFolder::TorchesWithExternalAllocator() const {
  std::vector<std::string> torchs;
  for (const std::string& note : NotesOfOthers(path_)) torchs.push_back(TextOfFile(note));
  return torchs;
}

int AdapterFolder::Clear() const {
  int count = 0;
  for (const std::string& adapter : List()) {
    unlink(LockFileOf(adapter).c_str());
    unlink(TorchFileOf(adapter).c_str());
    if (unlink(adapter.c_str()) == 0) ++count;
  }
  for (const std::string& note : NotesOfOthers(path_)) unlink(note.c_str());
  return count;
}

void AdapterFolder::NoteTorch(const std::string& adapter, const TorchInstallation& torch) const {
  const std::string file = TorchFileOf(path_ / fs::path(adapter).filename());
  if (TextOfFile(file) == torch.folder) return;
  const std::string written = absl::StrCat(file, ".", getpid());
  std::ofstream(written) << torch.folder;
  if (rename(written.c_str(), file.c_str()) != 0) unlink(written.c_str());
}

std::string AdapterFolder::TorchOf(const std::string& adapter) {
  return TextOfFile(TorchFileOf(adapter));
}

AdapterLock::AdapterLock(const std::string& adapter)
    : descriptor_(open(LockFileOf(adapter).c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600)) {
  // Without the lock, the same adapter may be compiled twice, which is harmless.
  if (descriptor_ >= 0) (void)flock(descriptor_, LOCK_EX);
}

AdapterLock::~AdapterLock() {
  if (descriptor_ >= 0) close(descriptor_);
}

}  // namespace vramstow
