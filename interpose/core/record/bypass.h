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

// Logs the signs of a bypass that the loaded libraries show, one line for each. Returns the number
// of lines. `was_seen` gets an address in a library; it returns true if that library called the
// driver through vramstow, or does not use the driver at all.
int ReportUnseenLibraries(const VramstowShim& shim,
                          bool (*was_seen)(const void* context, const void* address),
                          const void* context);

}  // namespace vramstow

#endif  // VRAMSTOW_INTERPOSE_CORE_RECORD_BYPASS_H_
