// Opens the core, once, from the shim's own folder.
//
// Idea: what happens in a process that never looks for the CUDA driver must cost next to nothing,
// so all C++ lies in a second library. It is opened with RTLD_LOCAL: none of its names, and nothing
// it needs, is seen by the program.
//
// Ownership: the core is never closed. Threads: any; two threads may open it at the same time,
// which the dynamic linker makes one. No thread waits for another here, because the caller may hold
// the dynamic linker's lock (constructors run under it). Errors: one sentence on stderr, once; then
// null for ever, and everything passes through.
#ifndef VRAMSTOW_INTERPOSE_SHIM_CORE_LOADER_H_
#define VRAMSTOW_INTERPOSE_SHIM_CORE_LOADER_H_

#include "interpose/shim/seam.h"

namespace vramstow {

// The core, opened now if need be; null if it cannot be opened.
const VramstowCore* OpenCore();

// The core if it is open.
const VramstowCore* OpenedCore();

// glibc's own functions, past every wrapper in the process: what the shim and the core use for
// themselves. A wrapper that some other library put in between would be taken for the caller.
void* FindSymbol(void* handle, const char* name);
void* OpenLibrary(const char* file, int mode);

// The value of an environment variable, or null. Not getenv: see text.h.
const char* Environment(const char* name);

// Whether the variable is set to one of the words for "on" that base/options.h takes.
bool EnvironmentIsOn(const char* name);

// Remembers a file that is opened with RTLD_DEEPBIND, for the coverage report.
void NoteDeepbind(const char* file);

}  // namespace vramstow

#endif  // VRAMSTOW_INTERPOSE_SHIM_CORE_LOADER_H_
