// AdapterFolder: the folder of the adapters that were compiled on this machine: the user's cache,
// or one that the user named. Beside each adapter is a file that says which PyTorch it is for. For
// an adapter of a vramstow package, there is only that file.
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
  // Returns `wanted`, or the user's cache if it is empty; makes the folder if it does not exist.
  static absl::StatusOr<AdapterFolder> Make(const std::string& wanted);
  // Like Make, but does not make the folder; the path is empty if it does not exist.
  static AdapterFolder Existing(const std::string& wanted);

  const std::string& path() const { return path_; }
  bool empty() const { return path_.empty(); }
  // Returns all adapters in the folder, of all kinds and for every PyTorch.
  std::vector<std::string> List() const;
  // Returns the folders of the PyTorch installations whose adapters lie elsewhere.
  std::vector<std::string> TorchesWithExternalAllocator() const;
  // Removes all adapters, and returns how many there were.
  int Clear() const;

  // Notes the PyTorch of an adapter, so that a later run finds the adapter, in this folder or
  // elsewhere, without being given the PyTorch.
  void NoteTorch(const std::string& adapter, const TorchInstallation& torch) const;
  // Returns the folder of PyTorch that was noted; empty if none was.
  static std::string TorchOf(const std::string& adapter);

 private:
  explicit AdapterFolder(std::string path) : path_(std::move(path)) {}

  std::string path_;
};

// A lock for ranks of one job that build the same adapter at the same time: the process that holds
// the lock builds. A child that is forked while it is held holds it, too.
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
