// Finds functions in the loaded libraries without the dynamic linker's help.
//
// Idea: the shim exports dlsym itself, so it cannot ask dlsym for the real one. It reads the list
// of loaded libraries and their symbol tables, as the dynamic linker does: the libraries that were
// loaded when the process started stand first in the list, in the order in which symbols are
// searched, and are never unloaded.
//
// Ownership: none. Threads: any, also in constructors of other libraries, because no function but
// IsNeeded takes a lock, uses the heap or calls libc. Errors: null for a function that is not
// there. Units: addresses.
#ifndef VRAMSTOW_INTERPOSE_SHIM_OBJECTS_H_
#define VRAMSTOW_INTERPOSE_SHIM_OBJECTS_H_

#include <link.h>

namespace vramstow {

// The definition that comes next in search order after this library.
void* NextDefinition(const char* name);

// glibc's own definition.
void* LibcDefinition(const char* name);

// The path of a library of this file name that came before the C library when the process started,
// as preloaded ones do, if it defines `symbol`; else null.
const char* FindPreloaded(const char* file, const char* symbol);

// Whether a loaded library says that it needs this file. Takes the dynamic linker's lock.
bool IsNeeded(const char* file);

// Whether `path` names the library of the CUDA driver.
bool IsDriverPath(const char* path);

// Whether a driver library is loaded, in the program's name space or in one that dlmopen made. Only
// for the end of the process: a library that is closed meanwhile would be looked at.
bool IsDriverLoadedAnywhere();

}  // namespace vramstow

#endif  // VRAMSTOW_INTERPOSE_SHIM_OBJECTS_H_
