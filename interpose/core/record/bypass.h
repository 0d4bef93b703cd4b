// Finds the libraries that could have reached the driver without vramstow.
//
// Idea: at exit the loaded libraries are searched for signs of a bypass. There are three such
// signs. A library was opened with RTLD_DEEPBIND. A library was opened in its own link namespace
// (dlmopen). Or a library never called a hook, although it is linked to libcuda or contains a copy
// of the CUDA runtime (which contains the driver's file name as a text).
//
// Ownership: none. Threads: one, at exit. Errors: a file that cannot be read is skipped. Units:
// lines.
#ifndef VRAMSTOW_INTERPOSE_CORE_RECORD_BYPASS_H_
#define VRAMSTOW_INTERPOSE_CORE_RECORD_BYPASS_H_

#include "interpose/shim/seam.h"

namespace vramstow {

// Logs one line for each library and returns the number of lines. `was_seen` returns true if the
// library that contains an address came through vramstow or does not use the driver at all.
int ReportUnseenLibraries(const VramstowShim& shim,
                          bool (*was_seen)(const void* context, const void* address),
                          const void* context);

}  // namespace vramstow

#endif  // VRAMSTOW_INTERPOSE_CORE_RECORD_BYPASS_H_
