// The folder of the adapters that were compiled on this machine: the user's cache, or one that the
// user named. Beside each adapter lies a file that says which PyTorch it is for. Of an adapter that
// a package of vramstow brought there is only such a file.
//
// Ownership: a path. Threads: any; processes that build the same wait for each other (AdapterLock).
// Errors: one sentence. Units: none.
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
  // `wanted`, or the user's cache; made if it is not there.
  static absl::StatusOr<AdapterFolder> Make(const std::string& wanted);
  // The same, if it is there already; an empty path: it is not.
  static AdapterFolder Existing(const std::string& wanted);

  const std::string& path() const { return path_; }
  bool empty() const { return path_.empty(); }
  // All adapters in it, of all kinds and for every PyTorch.
  std::vector<std::string> List() const;
  // The PyTorchs of adapters that lie elsewhere.
  std::vector<std::string> TorchesWithExternalAllocator() const;
  // Removes all, and says how many adapters these were.
  int Clear() const;

  // So that a later run knows the adapter, in this folder or elsewhere, without being told of this
  // PyTorch.
  void NoteTorch(const std::string& adapter, const TorchInstallation& torch) const;
  // The folder that was noted; empty: none.
  static std::string TorchOf(const std::string& adapter);

 private:
  explicit AdapterFolder(std::string path) : path_(std::move(path)) {}

  std::string path_;
};

// Ranks of one job build the same adapter at the same time: whoever holds this lock builds. A child
// that is forked meanwhile holds it, too.
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
