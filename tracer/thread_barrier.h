// Executes a memory barrier in all threads of the process at once: membarrier(2).
//
// Idea: recording an event is frequent and needs no barrier if the end of a trace, which is rare,
// executes one in every thread. Ownership: none. Threads: any. Errors: false if the kernel has no
// such call, or a sandbox forbids it. Units: none.
#ifndef VRAMSTOW_TRACER_THREAD_BARRIER_H_
#define VRAMSTOW_TRACER_THREAD_BARRIER_H_

#include <linux/membarrier.h>

#include "tracer/system_calls.h"

namespace vramstow {

// Prepares the process for barriers. Called once per process, before the first barrier.
inline bool RegisterThreadBarrier() {
  return CurrentSystemCalls().barrier(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED) == 0;
}

// Returns true if each running thread has executed a barrier since the call.
inline bool BarrierOnAllThreads() {
  return CurrentSystemCalls().barrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED) == 0;
}

}  // namespace vramstow

#endif  // VRAMSTOW_TRACER_THREAD_BARRIER_H_
