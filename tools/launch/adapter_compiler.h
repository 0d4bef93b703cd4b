// AdapterCompiler: compiles an adapter's source with the C++ compiler of this machine.
//
// Ownership: the results are copies. Threads: callable from any thread; a compilation may take
// minutes. Errors: one sentence with the compiler's first error. Units: none.
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
  // Finds a compiler: the one in the variable CXX, or the first one on PATH.
  static absl::StatusOr<AdapterCompiler> Find();

  const std::string& path() const { return path_; }
  // Returns a text that is different for each compiler. It is found without starting the compiler.
  std::string Mark() const;

  // The purpose of a compiled library: kThisCopy is for one copy of PyTorch only; kPackage is for a
  // package of vramstow and does not contain the path of PyTorch.
  enum class Purpose { kThisCopy, kPackage };
  // Compiles the source to the file `library`, which appears either complete or not at all.
  absl::Status Compile(const TorchInstallation& torch, const AdapterSource& source, Purpose purpose,
                       const std::string& library) const;

 private:
  std::string path_;
};

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_LAUNCH_ADAPTER_COMPILER_H_
