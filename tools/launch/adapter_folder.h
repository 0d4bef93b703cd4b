// AdapterFolder: the folder of the adapters that were compiled on this machine. It is the user's
// cache, or a folder that the user named. Beside each adapter is a file that says for which PyTorch
// it was compiled. For an adapter that belongs to a package of vramstow, the folder has only that
// file.
//
// Ownership: a path. Threads: callable from any thread; processes that build the same adapter wait
// for each other (AdapterLock). Errors: one sentence. Units: none.
#ifndef VRAMSTOW_TOOLS_LAUNCH_ADAPTER_FOLDER_H_
#define VRAMSTOW_TOOLS_LAUNCH_ADAPTER_FOLDER_H_

#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "tools/launch/torch_installation.h"

namespace vramstow {

class AdapterFolder {
 public:
  // Returns the folder `wanted` or, if this is empty, the user's cache. Makes the folder if it does
  // not exist.
  static absl::StatusOr<AdapterFolder> Make(const std::string& wanted);
  // Returns the same folder as Make, which may not exist, for those who only read.
  static absl::StatusOr<AdapterFolder> Locate(const std::string& wanted);
  // Returns the same folder as Make, but does not make it. The path is empty if the folder does not
  // exist.
  static AdapterFolder Existing(const std::string& wanted);

  const std::string& path() const { return path_; }
  bool empty() const { return path_.empty(); }
  // Returns all adapters in the folder, of all kinds and for every PyTorch.
  std::vector<std::string> List() const;
  // Returns the folders of the PyTorch installations whose adapters lie elsewhere.
  std::vector<std::string> TorchesWithExternalAllocator() const;
  // Removes all adapters, and returns how many there were.
  int Clear() const;

  // Writes down for which PyTorch the adapter is, so that a later run finds it without knowing that
  // PyTorch. The adapter may lie in this folder or elsewhere.
  void NoteTorch(const std::string& adapter, const TorchInstallation& torch) const;
  // Returns the folder of the PyTorch that NoteTorch wrote down. Returns an empty text if there is
  // no such note.
  static std::string TorchOf(const std::string& adapter);

 private:
  explicit AdapterFolder(std::string path) : path_(std::move(path)) {}

  std::string path_;
};

// A lock for the ranks of one job, which may build the same adapter at the same time. The process
// that holds the lock builds. A child process that is forked meanwhile also holds the lock.
class AdapterLock {
 public:
  explicit AdapterLock(const std::string& adapter);
  AdapterLock(const AdapterLock&) = delete;
  AdapterLock& operator=(const AdapterLock&) = delete;
  ~AdapterLock();

 private:
  int descriptor_;
};

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_LAUNCH_ADAPTER_FOLDER_H_
