// Telling of an allocation that could not be served: one block of text on stderr, and in the trace.
//
// Ownership: none. Threads: any. Errors: none. No heap. Units: bytes.
#ifndef VRAMSTOW_INTERPOSE_CORE_POOLS_OUT_OF_MEMORY_H_
#define VRAMSTOW_INTERPOSE_CORE_POOLS_OUT_OF_MEMORY_H_

#include "allocator/pool/pool.h"
#include "interpose/core/runtime/core.h"

namespace vramstow {

// Tells the pool's last report. Bounded: a job that lives on after running out of memory is told
// the first three times.
void LogOutOfMemory(Trace& trace, Pool* pool);
// Tells it in the trace only: a framework's own error says it to the user.
void DescribeOutOfMemory(Trace& trace, Pool* pool);

// Tells what VRAMSTOW_CHECK has found, once.
void LogFailedCheck(Pool* pool);

}  // namespace vramstow

#endif  // VRAMSTOW_INTERPOSE_CORE_POOLS_OUT_OF_MEMORY_H_
