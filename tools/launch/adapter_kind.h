// The kinds of libraries that are compiled for a PyTorch, and the releases that each knows.
//
// Ownership: constants. Threads: any. Errors: one sentence. Units: none.
#ifndef VRAMSTOW_TOOLS_LAUNCH_ADAPTER_KIND_H_
#define VRAMSTOW_TOOLS_LAUNCH_ADAPTER_KIND_H_

#include <string>

#include "absl/status/status.h"

namespace vramstow {

// An allocator that serves the framework, an observer of the framework's own, what computes the
// values of a rehearsal, or what tells who holds memory: base/adapter_kinds.def.
enum class AdapterKind {
#define VRAMSTOW_ADAPTER_KIND(kind, folder, prefix, first, last, variable, entry, otherwise) kind,
#include "base/adapter_kinds.def"
#undef VRAMSTOW_ADAPTER_KIND
};

struct AdapterRequest {
  AdapterKind kind = AdapterKind::kAllocator;
  bool try_newer = false;  // releases after those that are known, too: the compiler will tell
};
// From the value of VRAMSTOW_ADAPTER_TRY; null: it is not set.
bool WantsNewerTried(const char* value);

// The folder of a kind's .cc files, below the sources, and the prefix of the compiled library's
// name.
const char* SourceFolderOf(AdapterKind kind);
const char* NamePrefixOf(AdapterKind kind);
// The environment variable that names those that are ready.
const char* VariableOf(AdapterKind kind);
// The names of all kinds begin and end with these.
inline constexpr char kAdapterPrefix[] = "torch-";
inline constexpr char kAdapterSuffix[] = ".so";

// Whether the kind knows this release of PyTorch, or is to try it.
absl::Status CheckRelease(const std::string& release, const AdapterRequest& request);

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_LAUNCH_ADAPTER_KIND_H_
