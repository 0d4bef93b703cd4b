// Adapters: finds or compiles vramstow's libraries for the framework that is installed on this
// machine.
//
// Idea: PyTorch has no stable interface for allocators, so an adapter is shipped as source
// (adapter_source.h) and compiled into a folder of the user (adapter_folder.h). For some releases a
// package of vramstow also contains compiled adapters ("shipped" adapters). A shipped adapter fits
// every copy of its release with the same headers, and is preferred to an adapter that was compiled
// here.
//
// Ownership: the results are copies. Threads: used by one thread at a time; processes that build
// the same adapter wait for each other. Errors: one sentence that says what is missing. Units:
// none.
#ifndef VRAMSTOW_TOOLS_LAUNCH_ADAPTER_H_
#define VRAMSTOW_TOOLS_LAUNCH_ADAPTER_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "tools/launch/adapter_folder.h"
#include "tools/launch/adapter_kind.h"
#include "tools/launch/adapter_source.h"
#include "tools/launch/torch_installation.h"

namespace vramstow {

struct Adapter {
  std::string path;
  bool built = false;  // true if the file exists
  std::string compiler;
};

// A compiled adapter, and the folder of the PyTorch for which it was compiled.
struct ReadyAdapter {
  std::string torch_folder;
  std::string path;
};

// Finds and compiles the adapters of one kind (adapter_kind.h).
class Adapters {
 public:
  // `sources` is the folder with the source tree of the adapters of all kinds.
  Adapters(const std::string& sources, const AdapterRequest& request);

  // Returns the shipped adapter for this PyTorch. If there is none, returns the one in `folder`,
  // which may not be compiled yet (Adapter::built).
  absl::StatusOr<Adapter> Find(const TorchInstallation& torch, const AdapterFolder& folder) const;
  // Returns the adapter that Find returns, and compiles it if it is not compiled yet.
  absl::StatusOr<Adapter> Build(const TorchInstallation& torch, const AdapterFolder& folder) const;
  // True if vramstow supports this release.
  bool KnowsRelease(const std::string& release) const {
    return CheckRelease(release, request_).ok();
  }
  // Returns all adapters in the folder that still match their PyTorch and the sources.
  std::vector<ReadyAdapter> ListReady(const AdapterFolder& folder) const;

  // Returns the shipped adapter for this PyTorch; empty if there is none.
  std::string FindShipped(const TorchInstallation& torch) const;
  // Compiles an adapter for a package of vramstow into this folder, unless it exists there.
  absl::StatusOr<Adapter> BuildShipped(const TorchInstallation& torch,
                                       const std::string& folder) const;

 private:
  absl::Status CheckSource(const TorchInstallation& torch) const;
  absl::Status Compile(const TorchInstallation& torch, const Adapter& adapter) const;
  // Returns the path of the adapter for the PyTorch that the folder contains now. Returns an empty
  // text if no adapter is compiled.
  std::string BuiltFor(const std::string& torch_folder, const AdapterFolder& folder) const;

  AdapterRequest request_;
  AdapterSource source_;
};

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_LAUNCH_ADAPTER_H_
