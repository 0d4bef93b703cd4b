// Finds a function of the driver by the name under which the driver library exports it, past every
// hook. The result is null if the driver has none, or if vramstow never calls it.
//
// Ownership: none. Threads: any, without a lock. Errors: null. Units: none.
#ifndef VRAMSTOW_INTERPOSE_CORE_RUNTIME_REAL_FUNCTIONS_H_
#define VRAMSTOW_INTERPOSE_CORE_RUNTIME_REAL_FUNCTIONS_H_

#include "interpose/core/runtime/core.h"

namespace vramstow {

void* RealFunction(const Driver& driver, const char* symbol);

}  // namespace vramstow

#endif  // VRAMSTOW_INTERPOSE_CORE_RUNTIME_REAL_FUNCTIONS_H_
