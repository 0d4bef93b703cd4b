// The C++ compiler of this machine, and what it makes of an adapter's source.
//
// Ownership: copies. Threads: any; a compilation may take minutes. Errors: one sentence with the
// compiler's first complaint. Units: none.
#ifndef VRAMSTOW_TOOLS_LAUNCH_ADAPTER_COMPILER_H_
#define VRAMSTOW_TOOLS_LAUNCH_ADAPTER_COMPILER_H_

#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "tools/launch/adapter_source.h"
#include "tools/launch/torch_installation.h"

namespace vramstow {

class AdapterCompiler {
 public:
  explicit AdapterCompiler(std::string path) : path_(std::move(path)) {}
  // $CXX, or the first that PATH has.
  static absl::StatusOr<AdapterCompiler> Find();

  const std::string& path() const { return path_; }
  // A mark that tells one compiler from another without starting it.
  std::string Mark() const;

  // For this copy of PyTorch only, or for a package: without the place where PyTorch lies.
  enum class Purpose { kThisCopy, kPackage };
  // Writes `library` whole or not at all.
  absl::Status Compile(const TorchInstallation& torch, const AdapterSource& source, Purpose purpose,
                       const std::string& library) const;

 private:
  std::string path_;
};

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_LAUNCH_ADAPTER_COMPILER_H_
