// Finds functions in the loaded libraries without the dynamic linker's help.
//
// Idea: the shim exports dlsym itself, so it cannot use dlsym to find the real one. It reads the
// list of loaded libraries and their symbol tables, as the dynamic linker does. The libraries that
// were loaded when the process started are the first ones of this list, in the order in which
// symbols are searched, and are never unloaded.
//
// Ownership: none. Threads: any, also in constructors of other libraries, because no function but
// IsNeeded takes a lock, uses the heap or calls libc. Errors: null for a function that does not
// exist. Units: addresses.
#ifndef VRAMSTOW_INTERPOSE_SHIM_OBJECTS_H_
#define VRAMSTOW_INTERPOSE_SHIM_OBJECTS_H_

#include <link.h>

namespace vramstow {

// Returns the definition of the name in the next library after this one, in search order.
void* NextDefinition(const char* name);

// Returns the definition of the name in glibc itself.
void* LibcDefinition(const char* name);

// Returns the path of a library that has this file name, defines `symbol`, and precedes the C
// library in search order, as preloaded libraries do. Returns null if there is none.
const char* FindPreloaded(const char* file, const char* symbol);

// True if a loaded library needs this file. Takes the dynamic linker's lock.
bool IsNeeded(const char* file);

// True if `path` is the path of the CUDA driver's library.
bool IsDriverPath(const char* path);

// True if a driver library is loaded in any link namespace, also in one that dlmopen made. Call it
// only at the end of the process, because it may read a library that is being closed.
bool IsDriverLoadedAnywhere();

}  // namespace vramstow

#endif  // VRAMSTOW_INTERPOSE_SHIM_OBJECTS_H_
