// The source of one kind of adapter, and the names of the libraries that are made from it.
//
// Idea: a library's name says what it was made from. Whatever changes there makes another name, so
// an old library is never taken by mistake.
//
// Ownership: copies. Threads: any. Errors: a source that is not there is empty. Units: none.
#ifndef VRAMSTOW_TOOLS_LAUNCH_ADAPTER_SOURCE_H_
#define VRAMSTOW_TOOLS_LAUNCH_ADAPTER_SOURCE_H_

#include <filesystem>
#include <string>
#include <vector>

#include "tools/launch/adapter_kind.h"
#include "tools/launch/torch_installation.h"

namespace vramstow {

class AdapterSource {
 public:
  // `folder` holds the source tree of all kinds.
  AdapterSource(const std::string& folder, AdapterKind kind);

  AdapterKind kind() const { return kind_; }
  const std::string& folder() const { return folder_; }
  bool empty() const { return files_.empty(); }
  // The .cc files.
  std::vector<std::filesystem::path> Units() const;

  // How the name of a library begins that is compiled for this copy of PyTorch; the compiler's mark
  // follows.
  std::string StemFor(const TorchInstallation& torch) const;
  // The name of a library that fits every copy of the release whose headers are the same.
  std::string ShippedName(const TorchInstallation& torch) const;

 private:
  std::string folder_;
  AdapterKind kind_;
  std::vector<std::filesystem::path> files_;  // sorted
};

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_LAUNCH_ADAPTER_SOURCE_H_
