// Adapters: vramstow's own allocator for a framework, compiled on this machine against the one that
// is installed here.
//
// Idea: PyTorch has no stable interface for allocators, so the adapter comes as source. A compiled
// one lies in the user's cache under a name that says what it was made from; whatever changes there
// makes another name, so an old one is never taken by mistake. For some releases a package of
// vramstow has compiled ones with it (shipped): they fit every copy of a release whose headers are
// the same.
//
// Ownership: copies. Threads: one at a time; processes that build the same wait for each other.
// Errors: one sentence that says what is missing. Units: none.
#ifndef VRAMSTOW_TOOLS_LAUNCH_ADAPTER_H_
#define VRAMSTOW_TOOLS_LAUNCH_ADAPTER_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace vramstow {

// An installed PyTorch: the folder `torch` of a wheel, or an unpacked LibTorch.
struct TorchInstallation {
  std::string folder;
  std::string release;  // "2.15.0"
  bool cxx11_abi = true;
  std::vector<std::string> include_folders;
};

absl::StatusOr<TorchInstallation> FindTorch(const std::string& folder);

// The folder for compiled adapters: `wanted`, or the user's cache.
absl::StatusOr<std::string> AdapterFolder(const std::string& wanted);
// The same, if it is there already; empty: it is not.
std::string ExistingAdapterFolder(const std::string& wanted);
// The file beside an adapter that says which PyTorch it is for.
std::string TorchFileOf(const std::string& adapter);

// What is compiled: an allocator that serves the framework, an observer of the framework's own,
// what computes the values of a rehearsal, or what tells who holds memory.
enum class AdapterKind { kAllocator, kObserver, kValues, kCensus };

struct AdapterWish {
  AdapterKind kind = AdapterKind::kAllocator;
  bool try_newer = false;  // releases after those that are known, too: the compiler will tell
};
// From the value of VRAMSTOW_ADAPTER_TRY; null: it is not set.
bool WantsNewerTried(const char* value);

struct Adapter {
  std::string path;
  bool built = false;  // the file is there
  std::string compiler;
};
// The adapter for this PyTorch, a shipped one if there is one; `sources` is the folder with the
// adapter's source tree.
absl::StatusOr<Adapter> FindAdapter(const TorchInstallation& torch, const std::string& sources,
                                    const std::string& folder, const AdapterWish& wish);
// The same, compiled now if it is not there.
absl::StatusOr<Adapter> BuildAdapter(const TorchInstallation& torch, const std::string& sources,
                                     const std::string& folder, const AdapterWish& wish);

// The same, compiled by a process of its own that nobody waits for, with the least priority and in
// no terminal; where another one is at it, by that one. The file comes to be all at once.
absl::StatusOr<Adapter> BuildAdapterLater(const TorchInstallation& torch,
                                          const std::string& sources, const std::string& folder,
                                          const AdapterWish& wish);

// Whether there can be one for this release at all.
bool KnowsRelease(const std::string& release, const AdapterWish& wish);

// The shipped adapter for this PyTorch; empty: there is none.
std::string ShippedAdapter(const TorchInstallation& torch, const std::string& sources,
                           AdapterKind kind);
// Compiles one that can be shipped into this folder, unless it is there.
absl::StatusOr<Adapter> CompileShipped(const TorchInstallation& torch, const std::string& sources,
                                       const std::string& folder, const AdapterWish& wish);

// An adapter that is there, and the folder of the PyTorch that it is for.
struct ReadyAdapter {
  std::string torch_folder;
  std::string path;
};
// All of the wished kind in the folder that are still right for their PyTorch and for `sources`.
std::vector<ReadyAdapter> ListReadyAdapters(const std::string& sources, const std::string& folder,
                                            const AdapterWish& wish);

// All compiled adapters in the folder.
std::vector<std::string> ListAdapters(const std::string& folder);

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_LAUNCH_ADAPTER_H_
