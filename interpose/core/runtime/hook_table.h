// Provides the rows of interpose/shim/hooks.def as an enum and constant data.
//
// Ownership: constant data. Threads: any. Errors: kNoHook. Units: none.
#ifndef VRAMSTOW_INTERPOSE_CORE_RUNTIME_HOOK_TABLE_H_
#define VRAMSTOW_INTERPOSE_CORE_RUNTIME_HOOK_TABLE_H_

#include <cstddef>
#include <cstdint>

namespace vramstow {

// Each row has one enumerator: kcuInit, kcuGetProcAddress, …
enum class Hook : uint16_t {
#define VRAMSTOW_HOOK(symbol, name, version, stream, group, handler, parameters, arguments, what) \
  k##symbol,
#include "interpose/shim/hooks.def"
  kCount,
};

inline constexpr size_t kHookCount = static_cast<size_t>(Hook::kCount);
inline constexpr Hook kNoHook = Hook::kCount;

struct HookRow {
  const char* symbol;
  const char* name;
  int version;
  bool per_thread_stream;  // a null stream is the thread's own default stream
  bool submission;         // submits work: hooked only where memory may move
  bool launch;             // launches kernels: also hooked where launches are counted
  bool with_pool;          // copies, fills, launches a graph: also hooked where there is a pool
};

const HookRow& RowOf(Hook hook);

}  // namespace vramstow

#endif  // VRAMSTOW_INTERPOSE_CORE_RUNTIME_HOOK_TABLE_H_
