// Reports an allocation that could not be served: one block of text on stderr, and in the trace.
//
// Ownership: none. Threads: any. Errors: none. No heap. Units: bytes.
#ifndef VRAMSTOW_INTERPOSE_CORE_POOLS_OUT_OF_MEMORY_H_
#define VRAMSTOW_INTERPOSE_CORE_POOLS_OUT_OF_MEMORY_H_

#include "allocator/pool/pool.h"
#include "interpose/core/runtime/core.h"

namespace vramstow {

// Writes the last report of a device's pool to stderr and to the trace, the first three times in a
// process. Records the limit of the pool as a fact of the device.
void LogOutOfMemory(Trace& trace, Pool* pool, int device);
// Writes the report to the trace only, because the user sees the framework's own error.
void DescribeOutOfMemory(Trace& trace, Pool* pool, int device);

// Logs the findings of VRAMSTOW_CHECK, once.
void LogFailedCheck(Pool* pool);

}  // namespace vramstow

#endif  // VRAMSTOW_INTERPOSE_CORE_POOLS_OUT_OF_MEMORY_H_
