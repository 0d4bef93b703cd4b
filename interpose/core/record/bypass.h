// Libraries that could have reached the driver without vramstow.
//
// Idea: at exit the loaded libraries are searched for the marks of such libraries: opened with
// RTLD_DEEPBIND; opened in a name space of its own (dlmopen); linked to libcuda, or with a copy of
// the CUDA runtime inside (which has the driver's file name as a text), and yet never seen.
//
// Ownership: none. Threads: one, at exit. Errors: a file that cannot be read is skipped. Units:
// lines.
#ifndef VRAMSTOW_INTERPOSE_CORE_RECORD_BYPASS_H_
#define VRAMSTOW_INTERPOSE_CORE_RECORD_BYPASS_H_

#include "interpose/shim/seam.h"

namespace vramstow {

// Logs one line for each and returns their number. `was_seen` says whether the library that holds
// an address came through vramstow, or does not use the driver at all.
int ReportUnseenLibraries(const VramstowShim& shim,
                          bool (*was_seen)(const void* context, const void* address),
                          const void* context);

}  // namespace vramstow

#endif  // VRAMSTOW_INTERPOSE_CORE_RECORD_BYPASS_H_
