#include "interpose/core/runtime/routing.h"

#include <cstring>

#include "interpose/core/core.h"
#include "interpose/core/runtime/keep_errno.h"

namespace vramstow {
namespace {

void NoteLookUp(VramstowWay way, const void* caller) {
  Core& core = TheCore();
  if (core.process.options().coverage) core.coverage.NoteLookUp(way, caller);
}

// Functions that submit work are left alone where memory does not move and nobody counts them.
bool IsWanted(Hook hook) {
  const HookRow& row = RowOf(hook);
  return !row.submission || TheCore().offloading.wanted() ||
         (row.launch && TheCore().launches.wanted());
}

bool IsHookedName(const char* name) {
  for (size_t i = 0; i < kHookCount; ++i) {
    const Hook hook = static_cast<Hook>(i);
    if (std::strcmp(RowOf(hook).name, name) == 0) return IsWanted(hook);
  }
  return false;
}

}  // namespace

void* Replace(unsigned hook, void* real, void* driver, VramstowWay way, const void* caller) {
  Core& core = TheCore();
  if (hook >= kHookCount || !core.process.Start() || !IsWanted(static_cast<Hook>(hook))) {
    return real;
  }
  if (!core.driver.Bind(*core.shim, static_cast<const link_map*>(driver))) {
    core.coverage.NoteOtherDriver();
    return real;
  }
  if (core.driver.real(static_cast<Hook>(hook)) != real) return real;
  NoteLookUp(way, caller);
  return WrapperOf(static_cast<Hook>(hook));
}

void* ReplaceProcAddress(const char* name, int version, unsigned long long flags, void* real,
                         const void* caller) {
  KeepErrno keep_errno;
  Core& core = TheCore();
  const bool per_thread_stream = (flags & CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM) != 0;
  Hook hook = core.driver.FindAddress(real, name, per_thread_stream);
  if (hook == kNoHook) hook = core.driver.FindVersion(real, name, version, per_thread_stream);
  if (hook == kNoHook) {
    if (IsHookedName(name)) core.coverage.NoteUnknown(name, version);
    return real;
  }
  if (!IsWanted(hook)) return real;
  NoteLookUp(kVramstowProcAddress, caller);
  return WrapperOf(hook);
}

}  // namespace vramstow
