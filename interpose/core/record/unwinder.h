// Opens the core's private copy of libunwind, which tracer/capture/unwind_library.h describes.
//
// Ownership: the copy is never closed. Threads: any; the first caller opens it. Errors: without the
// copy, a captured stack ends at a frame that only libunwind can step over, which few frames are;
// nothing is logged. Units: none.
#ifndef VRAMSTOW_INTERPOSE_CORE_RECORD_UNWINDER_H_
#define VRAMSTOW_INTERPOSE_CORE_RECORD_UNWINDER_H_

#include "interpose/shim/seam.h"

namespace vramstow {

// Opens vramstow/libvramstow-unwind.so in the core's folder. This calls the dynamic linker. So call
// it when the shim has just opened the core, and never while a trace is being opened, because other
// threads wait for the trace.
void OpenUnwinder(const VramstowShim& shim);

}  // namespace vramstow

#endif  // VRAMSTOW_INTERPOSE_CORE_RECORD_UNWINDER_H_
