#include "interpose/core/runtime/routing.h"

#include <cstring>

#include "base/keep_errno.h"
#include "interpose/core/runtime/driver.h"
#include "interpose/core/runtime/process.h"
#include "interpose/core/runtime/settings.h"
#include "interpose/core/runtime/this_thread.h"

namespace vramstow {

// True if a hook is needed with these settings. Functions that submit work are hooked only if
// memory may move or launches are counted. Copies and fills are also hooked with a pool, because
// those of the pool's memory may have to be submitted in another form where GPUs cannot access each
// other's memory, and launches of graphs, because the driver may lack memory for a graph.
bool Routing::IsWanted(Hook hook) const {
  const HookRow& row = RowOf(hook);
  return !row.submission || WantsOffload(process_.options()) ||
         (row.launch && WantsLaunches(process_.options())) ||
         (row.with_pool && WantsPool(process_.options()));
}

bool Routing::IsWantedName(const char* name) const {
  for (size_t i = 0; i < kHookCount; ++i) {
    const Hook hook = static_cast<Hook>(i);
    if (std::strcmp(RowOf(hook).name, name) == 0) return IsWanted(hook);
  }
  return false;
}

Routed Routing::Replace(unsigned hook, void* real, void* driver) const {
  if (hook >= kHookCount || !process_.Start() || !IsWanted(static_cast<Hook>(hook))) {
    return {real, LookUp::kLeftAlone};
  }
  if (!driver_.Bind(Shim(), static_cast<const link_map*>(driver))) {
    return {real, LookUp::kOtherDriver};
  }
  if (driver_.real(static_cast<Hook>(hook)) != real) return {real, LookUp::kLeftAlone};
  return {wrapper_of_(static_cast<Hook>(hook)), LookUp::kReplaced};
}

Routed Routing::ReplaceProcAddress(const char* name, int version, unsigned long long flags,
                                   void* real) const {
  const KeepErrno keep_errno;
  const bool per_thread_stream = (flags & CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM) != 0;
  Hook hook = driver_.FindAddress(real, name, per_thread_stream);
  if (hook == kNoHook) hook = driver_.FindVersion(real, name, version, per_thread_stream);
  if (hook == kNoHook) {
    return {real, IsWantedName(name) ? LookUp::kUnknownVersion : LookUp::kLeftAlone};
  }
  if (!IsWanted(hook)) return {real, LookUp::kLeftAlone};
  return {wrapper_of_(hook), LookUp::kReplaced};
}

}  // namespace vramstow
