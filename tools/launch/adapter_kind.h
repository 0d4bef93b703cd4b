// AdapterKind: the kinds of libraries that are compiled for a PyTorch, and the releases that each
// supports.
//
// Ownership: constants. Threads: callable from any thread. Errors: one sentence. Units: none.
#ifndef VRAMSTOW_TOOLS_LAUNCH_ADAPTER_KIND_H_
#define VRAMSTOW_TOOLS_LAUNCH_ADAPTER_KIND_H_

#include <string>

#include "absl/status/status.h"

namespace vramstow {

// The kinds: an allocator that serves the framework, an observer of the framework's own allocator,
// the computation of values in a simulated run, and the census. See base/adapter_kinds.def.
enum class AdapterKind {
#define VRAMSTOW_ADAPTER_KIND(kind, folder, prefix, first, last, variable, entry, otherwise) kind,
#include "base/adapter_kinds.def"
#undef VRAMSTOW_ADAPTER_KIND
};

struct AdapterRequest {
  AdapterKind kind = AdapterKind::kAllocator;
  bool try_newer = false;  // also try newer releases: the compiler will decide
};
// Interprets the value of VRAMSTOW_ADAPTER_TRY; null if it is not set.
bool WantsNewerTried(const char* value);

// Return the folder of a kind's .cc files, below the sources, and the prefix of the compiled
// library's name.
const char* SourceFolderOf(AdapterKind kind);
const char* NamePrefixOf(AdapterKind kind);
// Returns the environment variable that names the compiled libraries.
const char* VariableOf(AdapterKind kind);
// The beginning and the end of the names of all kinds.
inline constexpr char kAdapterPrefix[] = "torch-";
inline constexpr char kAdapterSuffix[] = ".so";

// Returns OK if the kind supports this release of PyTorch, or the request says to try it.
absl::Status CheckRelease(const std::string& release, const AdapterRequest& request);

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_LAUNCH_ADAPTER_KIND_H_
