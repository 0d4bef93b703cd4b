// How an allocation that could not be served is reported: one block of text on stderr, and in the
// trace.
//
// Ownership: none. Threads: any. Errors: none. No heap. Units: bytes.
#ifndef VRAMSTOW_INTERPOSE_CORE_POOLS_OUT_OF_MEMORY_H_
#define VRAMSTOW_INTERPOSE_CORE_POOLS_OUT_OF_MEMORY_H_

#include "allocator/pool/pool.h"
#include "interpose/core/runtime/core.h"

namespace vramstow {

// Writes the last report of a device's pool to stderr and to the trace, the first three times in a
// process. The limit of the pool becomes a fact of the device.
void LogOutOfMemory(Trace& trace, Pool* pool, int device);
// Writes it to the trace only: the user sees the framework's own error.
void DescribeOutOfMemory(Trace& trace, Pool* pool, int device);

// Logs what VRAMSTOW_CHECK has found, once.
void LogFailedCheck(Pool* pool);

}  // namespace vramstow

#endif  // VRAMSTOW_INTERPOSE_CORE_POOLS_OUT_OF_MEMORY_H_
