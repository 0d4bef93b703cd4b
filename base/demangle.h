// The meaning of a compiler's name for a C++ function: "_Z3runi" is "run(int)".
//
// Ownership: the result is the caller's. Threads: pure. Errors: a name that is none comes back as
// it is. Units: none. Uses the heap: not for code that runs in a foreign process.
#ifndef VRAMSTOW_BASE_DEMANGLE_H_
#define VRAMSTOW_BASE_DEMANGLE_H_

#include <string>

namespace vramstow {

std::string Demangled(const char* name);

}  // namespace vramstow

#endif  // VRAMSTOW_BASE_DEMANGLE_H_
