// Reports an allocation that could not be served: one block of text on stderr, and in the trace.
//
// Ownership: none. Threads: any. Errors: none. No heap. Units: bytes.
#ifndef VRAMSTOW_INTERPOSE_CORE_POOLS_OUT_OF_MEMORY_H_
#define VRAMSTOW_INTERPOSE_CORE_POOLS_OUT_OF_MEMORY_H_

#include "allocator/pool/pool.h"
#include "interpose/core/pools/pools.h"
#include "interpose/core/runtime/core.h"

namespace vramstow {

// Writes the last out-of-memory report of a pool to stderr and to the trace, for the first three
// failures in a process. Records as facts of the device the limit of the pool, whether a stream was
// being captured, and the memory that captured graphs keep on the device.
void LogOutOfMemory(Trace& trace, const Pools::Use& use);
// Writes the last out-of-memory report of a pool to the trace only, because the user sees the
// framework's own error. Records the same facts.
void DescribeOutOfMemory(Trace& trace, const Pools::Use& use);

// Logs, once, the first violation that the checks of VRAMSTOW_CHECK found.
void LogFailedCheck(Pool* pool);

}  // namespace vramstow

#endif  // VRAMSTOW_INTERPOSE_CORE_POOLS_OUT_OF_MEMORY_H_
