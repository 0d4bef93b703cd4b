// Libraries that could have reached the driver past vramstow.
//
// Idea: what is loaded at the end is looked through for the marks of such libraries: opened with
// RTLD_DEEPBIND; in a name space of its own (dlmopen); linked to libcuda, or with a copy of the
// CUDA runtime inside (which carries the driver's file name as a text), and yet never seen.
//
// Ownership: none. Threads: one, at exit. Errors: a file that cannot be read is skipped. Units:
// lines.
#ifndef VRAMSTOW_INTERPOSE_CORE_RECORD_BYPASS_H_
#define VRAMSTOW_INTERPOSE_CORE_RECORD_BYPASS_H_

#include "interpose/shim/seam.h"

namespace vramstow {

// Says one line for each on stderr and gives their number. `was_seen` tells whether the library
// that holds an address came through vramstow, or is no user of the driver.
int ReportUnseenLibraries(const VramstowShim& shim,
                          bool (*was_seen)(const void* context, const void* address),
                          const void* context);

}  // namespace vramstow

#endif  // VRAMSTOW_INTERPOSE_CORE_RECORD_BYPASS_H_
