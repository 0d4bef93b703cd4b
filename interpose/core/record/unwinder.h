// The core's private copy of libunwind: tracer/capture/unwind_library.h says what it is for.
//
// Ownership: the copy stays open. Threads: any; the first that comes opens it. Errors: without the
// copy, stacks end at the few frames that only libunwind can step over; nothing is said. Units:
// none.
#ifndef VRAMSTOW_INTERPOSE_CORE_RECORD_UNWINDER_H_
#define VRAMSTOW_INTERPOSE_CORE_RECORD_UNWINDER_H_

#include "interpose/shim/seam.h"

namespace vramstow {

// Opens vramstow/libvramstow-unwind.so beside the core. Asks the dynamic linker: to be called where
// the shim has just opened the core itself, not while a trace is being opened, because other
// threads wait for that.
void OpenUnwinder(const VramstowShim& shim);

}  // namespace vramstow

#endif  // VRAMSTOW_INTERPOSE_CORE_RECORD_UNWINDER_H_
