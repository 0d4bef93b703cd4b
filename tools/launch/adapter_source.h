// AdapterSource: the source of one kind of adapter, and the names of the libraries that are made
// from it.
//
// Idea: the name of a library contains a fingerprint of everything that it is made from, so an
// outdated library is never used by mistake.
//
// Ownership: the results are copies. Threads: callable from any thread. Errors: the source is empty
// if it does not exist. Units: none.
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
  // `folder` has the source tree of the adapters of all kinds.
  AdapterSource(const std::string& folder, AdapterKind kind);

  AdapterKind kind() const { return kind_; }
  const std::string& folder() const { return folder_; }
  bool empty() const { return files_.empty(); }
  // Returns the .cc files of this kind of adapter.
  std::vector<std::filesystem::path> Units() const;

  // Returns the beginning of the name of a library that is compiled for this copy of PyTorch. The
  // rest of the name is the text by which AdapterCompiler::Mark identifies the compiler.
  std::string StemFor(const TorchInstallation& torch) const;
  // Returns the name of a library that fits every copy of the release with the same headers.
  std::string ShippedName(const TorchInstallation& torch) const;

 private:
  std::string folder_;
  AdapterKind kind_;
  std::vector<std::filesystem::path> files_;  // sorted
};

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_LAUNCH_ADAPTER_SOURCE_H_
