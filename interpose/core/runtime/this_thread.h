// The shim that opened the core, and the state of the calling thread, which the shim keeps.
//
// Idea: a library that comes by dlopen should not bring thread-local storage of its own, so the
// state of a thread lies in the shim (interpose/shim/seam.h).
//
// Ownership: the shim's. Threads: any; the shim is set once, before anything else happens in the
// core, and always to the same value. Errors: none. Units: none.
#ifndef VRAMSTOW_INTERPOSE_CORE_RUNTIME_THIS_THREAD_H_
#define VRAMSTOW_INTERPOSE_CORE_RUNTIME_THIS_THREAD_H_

#include "interpose/shim/seam.h"

namespace vramstow {

extern const VramstowShim* the_shim;

// Every caller gives the same shim, so a second call changes nothing.
void SetShim(const VramstowShim* shim);
// Null: nothing is attached. NVTX may have opened this library alone.
inline const VramstowShim* ShimOrNull() { return __atomic_load_n(&the_shim, __ATOMIC_ACQUIRE); }

// A second attach may try to set it while other threads read.
inline const VramstowShim& Shim() { return *__atomic_load_n(&the_shim, __ATOMIC_RELAXED); }
inline VramstowThread* ThisThread() { return Shim().thread(); }

}  // namespace vramstow

#endif  // VRAMSTOW_INTERPOSE_CORE_RUNTIME_THIS_THREAD_H_
