// A memory barrier on all threads of the process at once: membarrier(2).
//
// Idea: what happens at each event needs no barrier, if what happens once a trace sends one to
// everybody. Ownership: none. Threads: any. Errors: false where the kernel has no such call, or a
// sandbox forbids it. Units: none.
#ifndef VRAMSTOW_TRACER_THREAD_BARRIER_H_
#define VRAMSTOW_TRACER_THREAD_BARRIER_H_

#include <linux/membarrier.h>

#include "tracer/system_calls.h"

namespace vramstow {

// Once per process, before the first barrier.
inline bool RegisterThreadBarrier() {
  return CurrentSystemCalls().barrier(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED) == 0;
}

// When it returns true, each thread that runs has passed a barrier since the call.
inline bool BarrierOnAllThreads() {
  return CurrentSystemCalls().barrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED) == 0;
}

}  // namespace vramstow

#endif  // VRAMSTOW_TRACER_THREAD_BARRIER_H_
