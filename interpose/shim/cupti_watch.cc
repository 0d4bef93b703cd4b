// libvramstow-cupti.so notices other clients of CUPTI. It is preloaded only with --cupti.
//
// Idea: CUPTI serves one subscriber, and one set of buffers for records. When another client calls
// one of the functions of this file, vramstow unsubscribes before the call goes on to CUPTI. A
// client that finds CUPTI by dlopen and dlsym bypasses these functions. CUPTI then reports to that
// client that there is a subscriber already.
//
// Needs libc only. Ownership: one function pointer, which the core sets. Threads: any. Errors:
// CUPTI_ERROR_NOT_INITIALIZED without CUPTI. Units: none.
#include <dlfcn.h>
#include <stddef.h>
#include <stdint.h>

#define VRAMSTOW_EXPORT extern "C" __attribute__((visibility("default")))

namespace {

constexpr int kNotInitialized = 15;

void (*stand_back)() = nullptr;

// Finds CUPTI in the scope of the calling library, because a process may contain two releases of
// it.
void* Find(const char* name, void* caller) {
  void (*const listener)() = __atomic_load_n(&stand_back, __ATOMIC_ACQUIRE);
  if (listener != nullptr) listener();
  Dl_info info;
  if (dladdr(caller, &info) != 0 && info.dli_fname != nullptr) {
    void* const library = dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
    void* const found = library == nullptr ? nullptr : dlsym(library, name);
    if (library != nullptr) dlclose(library);
    if (found != nullptr) return found;
  }
  return dlsym(RTLD_NEXT, name);
}

}  // namespace

VRAMSTOW_EXPORT void vramstow_cupti_watch(void (*listener)()) {
  __atomic_store_n(&stand_back, listener, __ATOMIC_RELEASE);
}

VRAMSTOW_EXPORT int cuptiSubscribe(void** subscriber, void* callback, void* user) {
  void* const real = Find("cuptiSubscribe", __builtin_return_address(0));
  if (real == nullptr) return kNotInitialized;
  return reinterpret_cast<int (*)(void**, void*, void*)>(real)(subscriber, callback, user);
}

VRAMSTOW_EXPORT int cuptiSubscribe_v2(void** subscriber, void* callback, void* user, void* more) {
  void* const real = Find("cuptiSubscribe_v2", __builtin_return_address(0));
  if (real == nullptr) return kNotInitialized;
  return reinterpret_cast<int (*)(void**, void*, void*, void*)>(real)(subscriber, callback, user,
                                                                      more);
}

VRAMSTOW_EXPORT int cuptiActivityRegisterCallbacks(void* request, void* complete) {
  void* const real = Find("cuptiActivityRegisterCallbacks", __builtin_return_address(0));
  if (real == nullptr) return kNotInitialized;
  return reinterpret_cast<int (*)(void*, void*)>(real)(request, complete);
}
