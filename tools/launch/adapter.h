// Adapters: vramstow's own allocator for a framework, compiled on this machine against the one that
// is installed here.
//
// Idea: PyTorch has no stable interface for allocators, so the adapter comes as source
// (adapter_source.h). A compiled one lies in a folder of the user (adapter_folder.h). For some
// releases a package of vramstow has compiled ones with it (shipped): they fit every copy of a
// release whose headers are the same, and are taken first.
//
// Ownership: copies. Threads: one at a time; processes that build the same wait for each other.
// Errors: one sentence that says what is missing. Units: none.
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
  bool built = false;  // the file is there
  std::string compiler;
};

// An adapter that is there, and the folder of the PyTorch that it is for.
struct ReadyAdapter {
  std::string torch_folder;
  std::string path;
};

// The adapters of one kind.
class Adapters {
 public:
  // `sources` is the folder with the source tree of all kinds.
  Adapters(const std::string& sources, const AdapterRequest& request);

  // The one for this PyTorch: a shipped one, or the one that is or would be in `folder`.
  absl::StatusOr<Adapter> Find(const TorchInstallation& torch, const AdapterFolder& folder) const;
  // The same, compiled now if it is not there.
  absl::StatusOr<Adapter> Build(const TorchInstallation& torch, const AdapterFolder& folder) const;
  // Whether there can be one for this release at all.
  bool KnowsRelease(const std::string& release) const {
    return CheckRelease(release, request_).ok();
  }
  // All in the folder that are still right for their PyTorch and for the sources.
  std::vector<ReadyAdapter> ListReady(const AdapterFolder& folder) const;

  // The shipped one for this PyTorch; empty: there is none.
  std::string FindShipped(const TorchInstallation& torch) const;
  // Compiles one that can be shipped into this folder, unless it is there.
  absl::StatusOr<Adapter> BuildShipped(const TorchInstallation& torch,
                                       const std::string& folder) const;

 private:
  absl::Status CheckSource(const TorchInstallation& torch) const;
  absl::Status Compile(const TorchInstallation& torch, const Adapter& adapter) const;
  // The path of what is compiled for the PyTorch that lies there now; empty: nothing is.
  std::string BuiltFor(const std::string& torch_folder, const AdapterFolder& folder) const;

  AdapterRequest request_;
  AdapterSource source_;
};

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_LAUNCH_ADAPTER_H_
