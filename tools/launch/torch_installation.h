// TorchInstallation: a PyTorch that is installed on this machine.
//
// Ownership: the results are copies. Threads: callable from any thread. Errors: one sentence that
// says what is missing. Units: none.
#ifndef VRAMSTOW_TOOLS_LAUNCH_TORCH_INSTALLATION_H_
#define VRAMSTOW_TOOLS_LAUNCH_TORCH_INSTALLATION_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace vramstow {

// A PyTorch: the folder `torch` of a wheel, or an unpacked LibTorch.
struct TorchInstallation {
  std::string folder;
  std::string release;  // "2.15.0"
  bool cxx11_abi = true;
  std::vector<std::string> include_folders;
};

absl::StatusOr<TorchInstallation> FindTorch(const std::string& folder);

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_LAUNCH_TORCH_INSTALLATION_H_
