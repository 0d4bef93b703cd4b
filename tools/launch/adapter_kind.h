// AdapterKind: the kinds of libraries that are compiled for a PyTorch, and the releases that each
// supports.
//
// Ownership: constants. Threads: callable from any thread. Errors: one sentence. Units: none.
#ifndef VRAMSTOW_TOOLS_LAUNCH_ADAPTER_KIND_H_
#define VRAMSTOW_TOOLS_LAUNCH_ADAPTER_KIND_H_

#include <string>

#include "absl/status/status.h"

namespace vramstow {

// The kinds of adapters: an allocator that serves the framework, an observer of the framework's own
// allocator, the computation of values in a simulated run, and the census (a reference scan). See
// base/adapter_kinds.def.
enum class AdapterKind {
#define VRAMSTOW_ADAPTER_KIND(kind, folder, prefix, first, last, variable, entry, otherwise) kind,
#include "base/adapter_kinds.def"
#undef VRAMSTOW_ADAPTER_KIND
};

struct AdapterRequest {
  AdapterKind kind = AdapterKind::kAllocator;
  bool try_newer = false;  // also try newer releases: the compiler will decide
};
// True if the value of VRAMSTOW_ADAPTER_TRY says that releases of PyTorch newer than the supported
// ones are to be tried. `value` is null if the variable is not set.
bool WantsNewerTried(const char* value);

// SourceFolderOf returns the name of the folder, below the sources, that has the .cc files of a
// kind. NamePrefixOf returns the prefix of the name of the compiled library.
const char* SourceFolderOf(AdapterKind kind);
const char* NamePrefixOf(AdapterKind kind);
// Returns the environment variable that passes the paths of the compiled libraries to a process.
const char* VariableOf(AdapterKind kind);
// The name of a compiled library of any kind begins and ends with these texts.
inline constexpr char kAdapterPrefix[] = "torch-";
inline constexpr char kAdapterSuffix[] = ".so";

// Returns OK if the kind supports this release of PyTorch, or if the release is newer and the
// request says to try it.
absl::Status CheckRelease(const std::string& release, const AdapterRequest& request);

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_LAUNCH_ADAPTER_KIND_H_
