// Finds a function of the driver by the name under which the driver library exports it. The result
// is the driver's own function, not a hook. It is null if the driver has no such function, or if
// vramstow never calls it.
//
// Ownership: none. Threads: any, without a lock. Errors: null. Units: none.
#ifndef VRAMSTOW_INTERPOSE_CORE_RUNTIME_REAL_FUNCTIONS_H_
#define VRAMSTOW_INTERPOSE_CORE_RUNTIME_REAL_FUNCTIONS_H_

#include "interpose/core/runtime/core.h"

namespace vramstow {

void* RealFunction(const Driver& driver, const char* symbol);

}  // namespace vramstow

#endif  // VRAMSTOW_INTERPOSE_CORE_RUNTIME_REAL_FUNCTIONS_H_
