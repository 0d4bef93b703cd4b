// Gives access to the shim that opened the core, and to the state of the calling thread, which the
// shim owns.
//
// Idea: a library that is opened by dlopen should have no thread-local storage of its own, so the
// state of a thread lies in the shim (interpose/shim/seam.h).
//
// Ownership: the shim owns the state. Threads: any; the shim is set once, before anything else
// happens in the core, and always to the same value. Errors: none. Units: none.
#ifndef VRAMSTOW_INTERPOSE_CORE_RUNTIME_THIS_THREAD_H_
#define VRAMSTOW_INTERPOSE_CORE_RUNTIME_THIS_THREAD_H_

#include "interpose/shim/seam.h"

namespace vramstow {

extern const VramstowShim* the_shim;

// Sets the shim. Every caller passes the same shim, so a second call changes nothing.
void SetShim(const VramstowShim* shim);
// Returns the shim, or null if no shim is attached, because NVTX may have opened this library
// alone.
inline const VramstowShim* ShimOrNull() { return __atomic_load_n(&the_shim, __ATOMIC_ACQUIRE); }

// Returns the shim. The load is atomic, because a second attach may try to set the pointer while
// other threads read it.
inline const VramstowShim& Shim() { return *__atomic_load_n(&the_shim, __ATOMIC_RELAXED); }
inline VramstowThread* ThisThread() { return Shim().thread(); }

}  // namespace vramstow

#endif  // VRAMSTOW_INTERPOSE_CORE_RUNTIME_THIS_THREAD_H_
