// The functions that the assembly stubs (entry_*.S) call to find the target of a call.
//
// Every function here first checks whether the name is hooked. For a name that is not hooked it
// uses no function of libc, no thread-local storage and no heap. Sanitizers and allocators call
// dlsym before libc, thread-local storage and the heap can be used.
#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <stdint.h>

#include "base/keep_errno.h"
#include "interpose/shim/core_loader.h"
#include "interpose/shim/known_callers.h"
#include "interpose/shim/names.h"
#include "interpose/shim/objects.h"
#include "interpose/shim/runtime_copies.h"
#include "interpose/shim/scopes.h"
#include "interpose/shim/seam.h"

namespace vramstow {
namespace {

using Dlsym = void* (*)(void*, const char*);
using Dlvsym = void* (*)(void*, const char*, const char*);

// The functions that follow the shim's own ones in search order: those of glibc or of another
// wrapper.
struct NextFunctions {
  void* dlsym;  // all fields: __atomic access
  void* dlvsym;
  void* dlopen;
};
NextFunctions next_functions;

void* Next(void** cache, const char* name) {
  void* function = __atomic_load_n(cache, __ATOMIC_RELAXED);
  if (function == nullptr) {
    function = NextDefinition(name);
    // If the shim is not preloaded but opened later, it comes after glibc in search order.
    if (function == nullptr) function = LibcDefinition(name);
    __atomic_store_n(cache, function, __ATOMIC_RELAXED);
  }
  return function;
}

// Returns the driver library that contains `function`, or null if another library contains it.
link_map* DriverOf(void* function) {
  Dl_info info;
  link_map* object = nullptr;
  if (dladdr1(function, &info, reinterpret_cast<void**>(&object), RTLD_DL_LINKMAP) == 0) {
    return nullptr;
  }
  return object != nullptr && IsDriverPath(object->l_name) ? object : nullptr;
}

// Returns the replacement for a function of another library, or `real` if there is none. Without a
// pool the core need not be open.
void* ReplaceInLibrary(unsigned row, void* real) {
  if (OpenedCore() == nullptr && !EnvironmentIsOn("VRAMSTOW_POOL")) return real;
  const VramstowCore* core = OpenCore();
  void* replacement = core == nullptr ? real : core->replace_in_library(row, real);
  dlerror();
  return replacement;
}

// Returns the replacement for `real`, or `real` itself if there is none.
void* Replace(unsigned hook, void* real, VramstowWay way, const void* caller) {
  if (hook >= kFirstLibraryHook) return ReplaceInLibrary(hook - kFirstLibraryHook, real);
  link_map* driver = DriverOf(real);
  if (driver == nullptr) return real;
  const VramstowCore* core = OpenCore();
  void* replacement = core == nullptr ? real : core->replace(hook, real, driver, way, caller);
  dlerror();  // the caller's look-up succeeded, so it must not see an error of ours
  return replacement;
}

}  // namespace

// The slots through which the stubs jump, one for each row of the table. A slot holds its resolver
// at first. entry_*.S defines them.
extern "C" __attribute__((visibility("hidden"))) void* vramstow_shim_slots[];
// The exported stubs, in the order of the table. entry_*.S defines them.
extern "C" __attribute__((visibility("hidden"))) void* const vramstow_shim_stubs[];

namespace {

Definition FindInLibrary(unsigned hook, const char* version, const void* caller) {
  return FindForCaller(kHookSymbols[hook], version, vramstow_shim_stubs[hook],
                       kHookLibraries[hook - kFirstLibraryHook], caller);
}

// Looks for a function in the global scope and skips the shim's own exports. Returns null and sets
// dlerror() if no driver is loaded. A function of a library other than the driver is also looked
// for in the caller's own scope. `version` is the symbol's version, or null for the default one.
void* FindGlobally(unsigned hook, const char* version, const void* caller) {
  if (hook >= kFirstLibraryHook) {
    void* real = FindInLibrary(hook, version, caller).address;
    return real == nullptr ? nullptr : Replace(hook, real, kVramstowDlsymGlobal, caller);
  }
  const char* name = kHookSymbols[hook];
  // This call comes first, because the result of dlerror() must be that of the last look-up.
  const bool driver_is_loaded = OpenLibrary("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD) != nullptr;
  if (void* real = FindSymbol(RTLD_NEXT, name)) {
    return Replace(hook, real, kVramstowDlsymGlobal, caller);
  }
  // The driver is not in the global scope, but it may be in the caller's own scope. The shim's stub
  // finds it when the stub is called.
  return driver_is_loaded ? vramstow_shim_stubs[hook] : nullptr;
}

}  // namespace

// The ABI returns this struct in two registers: rax and rdx, or x0 and x1.
struct Route {
  void* address;
  uintptr_t is_answer;  // 1 returns the address to the caller; 0 jumps to it
};

extern "C" __attribute__((visibility("hidden"))) Route vramstow_shim_route_dlsym(
    void* handle, const char* name, const void* caller) {
  void* next = Next(&next_functions.dlsym, "dlsym");
  if (name == nullptr || handle == RTLD_NEXT) return {next, 0};
  const unsigned hook = FindHook(name);
  if (hook == kNotHooked) return {next, 0};
  KeepErrno keep_errno;
  if (handle == RTLD_DEFAULT) return {FindGlobally(hook, nullptr, caller), 1};
  // If a handle is given, glibc does not depend on the caller, so this function may call dlsym
  // itself.
  void* real = reinterpret_cast<Dlsym>(next)(handle, name);
  if (real == nullptr) return {nullptr, 1};
  if (real == vramstow_shim_stubs[hook]) return {FindGlobally(hook, nullptr, caller), 1};
  return {Replace(hook, real, kVramstowDlsym, caller), 1};
}

extern "C" __attribute__((visibility("hidden"))) Route vramstow_shim_route_dlvsym(
    void* handle, const char* name, const char* version, const void* caller) {
  void* next = Next(&next_functions.dlvsym, "dlvsym");
  if (name == nullptr || handle == RTLD_NEXT) return {next, 0};
  const unsigned hook = FindHook(name);
  if (hook == kNotHooked) return {next, 0};
  KeepErrno keep_errno;
  if (handle == RTLD_DEFAULT) return {FindGlobally(hook, version, caller), 1};
  void* real = reinterpret_cast<Dlvsym>(next)(handle, name, version);
  if (real == nullptr) return {nullptr, 1};
  if (real == vramstow_shim_stubs[hook]) return {FindGlobally(hook, version, caller), 1};
  return {Replace(hook, real, kVramstowDlsym, caller), 1};
}

// Returns the file that dlopen opens in place of the requested one.
extern "C" __attribute__((visibility("hidden"))) const char* vramstow_shim_route_file(
    const char* file) {
  return FileToOpen(file);
}

// Called only if the mode contains RTLD_DEEPBIND. Returns the mode with which dlopen opens the
// file.
extern "C" __attribute__((visibility("hidden"))) int vramstow_shim_route_deepbind(const char* file,
                                                                                  int mode) {
  if (EnvironmentIsOn("VRAMSTOW_CLEAR_DEEPBIND")) return mode & ~RTLD_DEEPBIND;
  NoteDeepbind(file);
  return mode;
}

// Returns the real dlopen, to which the stub jumps.
extern "C" __attribute__((visibility("hidden"))) void* vramstow_shim_next_dlopen() {
  return Next(&next_functions.dlopen, "dlopen");
}

namespace {

// These functions are called in place of a function of the driver. NoDriver returns
// CUDA_ERROR_SHARED_OBJECT_INIT_FAILED if no driver is loaded. NotInDriver returns
// CUDA_ERROR_NOT_FOUND if the driver lacks the function.
int NoDriver() { return 303; }
int NotInDriver() { return 500; }

// These functions are called in place of a function of another library that is absent. Each returns
// the error that library_hooks.def names.
void* Null() {
  errno = ENOSYS;
  return nullptr;
}
int Errno() { return ENOSYS; }
int NcclError() { return 2; }  // ncclSystemError

void* const kAbsent[] = {
#define VRAMSTOW_LIBRARY_HOOK(symbol, version, library, group, result, absent, ...) \
  reinterpret_cast<void*>(absent),
#include "interpose/shim/library_hooks.def"
};

// The callers that have been resolved before. Only callers of collectives are stored. Collectives
// are called in every training step, so a look-up at each call would be slow.
KnownCallers known_callers[kLibraryHookCount];

// Returns the function that the stub jumps to. If it is the same function for every caller, it is
// stored in the slot.
void* ResolveInLibrary(void** slot, unsigned hook, const void* caller) {
  const unsigned row = hook - kFirstLibraryHook;
  if (void* known = known_callers[row].Find(caller)) return known;
  const KeepErrno keep_errno;
  const Definition found = FindInLibrary(hook, nullptr, caller);
  if (found.address == nullptr) return kAbsent[row];
  void* target = Replace(hook, found.address, kVramstowLinked, caller);
  if (found.for_all) {
    __atomic_store_n(slot, target, __ATOMIC_RELEASE);
  } else if (kHookGroups[row] == HookGroup::collective && KeepLoaded(found.address)) {
    known_callers[row].Remember(caller, target);
  }
  return target;
}

}  // namespace

// Called by an exported stub at its first call. Returns the function that the stub jumps to, and
// stores it in the slot.
extern "C" __attribute__((visibility("hidden"))) void* vramstow_shim_resolve(void** slot,
                                                                             const void* caller) {
  const unsigned hook = static_cast<unsigned>(slot - vramstow_shim_slots);
  if (hook >= kFirstLibraryHook) return ResolveInLibrary(slot, hook, caller);
  KeepErrno keep_errno;
  void* real = FindSymbol(RTLD_NEXT, kHookSymbols[hook]);
  if (real == nullptr) {
    void* driver = OpenLibrary("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);
    if (driver == nullptr) return reinterpret_cast<void*>(NoDriver);
    real = FindSymbol(driver, kHookSymbols[hook]);
    if (real == nullptr) return reinterpret_cast<void*>(NotInDriver);
  }
  void* target = Replace(hook, real, kVramstowLinked, caller);
  __atomic_store_n(slot, target, __ATOMIC_RELEASE);
  return target;
}

// Runs after the program's exit handlers and the destructors of static objects.
__attribute__((destructor)) static void Finish() {
  const VramstowCore* core = OpenedCore();
  // A process that bypassed all hooks has not opened the core. The core is opened now if the user
  // wants the interception report, because the report is about such processes.
  if (core == nullptr && EnvironmentIsOn("VRAMSTOW_COVERAGE") && IsDriverLoadedAnywhere()) {
    core = OpenCore();
  }
  if (core != nullptr) core->finish();
}

}  // namespace vramstow
