// What a caller gets in place of a function of the driver.
//
// Ownership: none. Threads: any, also while the process starts. Errors: the driver's own address
// comes back where vramstow stays out. Units: addresses.
#ifndef VRAMSTOW_INTERPOSE_CORE_RUNTIME_ROUTING_H_
#define VRAMSTOW_INTERPOSE_CORE_RUNTIME_ROUTING_H_

#include "interpose/shim/seam.h"

namespace vramstow {

// For a look-up by exported name: VramstowCore::replace.
void* Replace(unsigned hook, void* real, void* driver, VramstowWay way, const void* caller);

// For an answer of cuGetProcAddress. `flags` as the caller gave them.
void* ReplaceProcAddress(const char* name, int version, unsigned long long flags, void* real,
                         const void* caller);

}  // namespace vramstow

#endif  // VRAMSTOW_INTERPOSE_CORE_RUNTIME_ROUTING_H_
