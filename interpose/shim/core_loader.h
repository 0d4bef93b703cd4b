// Opens the core once, from the shim's own folder.
//
// Idea: a process that never looks for the CUDA driver must have almost no cost, so all C++ is in a
// second library. It is opened with RTLD_LOCAL: the program sees none of its names, and none of its
// dependencies.
//
// Ownership: the core is never closed. Threads: any; two threads may open it at the same time, and
// the dynamic linker gives both the same library. No thread waits for another here, because the
// caller may hold the dynamic linker's lock: constructors run under it. Errors: one sentence on
// stderr, once; from then on the result is null, and all calls go to the driver unchanged. Units:
// none.
#ifndef VRAMSTOW_INTERPOSE_SHIM_CORE_LOADER_H_
#define VRAMSTOW_INTERPOSE_SHIM_CORE_LOADER_H_

#include "interpose/shim/seam.h"

namespace vramstow {

// Returns the core and opens it first if needed; null if it cannot be opened.
const VramstowCore* OpenCore();

// Returns the core, or null if it is not open.
const VramstowCore* OpenedCore();

// These functions call glibc's own dlsym and dlopen and bypass every wrapper in the process. Shim
// and core use them for themselves, because otherwise a wrapper in another library would count as
// the caller.
void* FindSymbol(void* handle, const char* name);
void* OpenLibrary(const char* file, int mode);

// Returns the value of an environment variable, or null. It does not call getenv (text.h says why).
const char* Environment(const char* name);

// True if the variable is set to one of the words for "on" that base/options.h accepts.
bool EnvironmentIsOn(const char* name);

// Stores the name of a file that is opened with RTLD_DEEPBIND, for the interception report.
void NoteDeepbind(const char* file);

}  // namespace vramstow

#endif  // VRAMSTOW_INTERPOSE_SHIM_CORE_LOADER_H_
