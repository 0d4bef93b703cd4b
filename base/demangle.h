// Translates a compiler's name of a C++ function into readable form: "_Z3runi" is "run(int)".
//
// Ownership: the caller owns the result. Threads: pure functions. Errors: a name that is not
// mangled is returned unchanged. Units: none. It uses the heap, so it must not run in a foreign
// process.
#ifndef VRAMSTOW_BASE_DEMANGLE_H_
#define VRAMSTOW_BASE_DEMANGLE_H_

#include <string>

namespace vramstow {

std::string Demangled(const char* name);

}  // namespace vramstow

#endif  // VRAMSTOW_BASE_DEMANGLE_H_
