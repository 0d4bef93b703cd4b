// Functions that limit how long allocations may wait for work in order to avoid that the pool
// grows.
//
// Idea: the sum of all such waits is limited to a fixed part of the pool's lifetime plus an
// allowance at its start. So the waits slow a job down by no more than that, even if no allocation
// of the job finds cached memory.
//
// Ownership: none. Threads: the device's lock. Errors: none. Units: nanoseconds.
#ifndef VRAMSTOW_ALLOCATOR_POOL_WAIT_BUDGET_H_
#define VRAMSTOW_ALLOCATOR_POOL_WAIT_BUDGET_H_

#include <cstdint>

#include "allocator/core/counter.h"
#include "allocator/pool/attempt.h"
#include "allocator/pool/parts.h"

namespace vramstow {

inline bool MayWait(const PoolParts& parts, uint64_t now_ns) {
  constexpr uint64_t kShare = 20;
  constexpr uint64_t kStartNs = 500'000'000;
  if (parts.config.stitch_wait_ns == 0 || parts.fences.capturing()) return false;
  return parts.counters.fence_wait_ns.load(std::memory_order_relaxed) <
         kStartNs + (now_ns - parts.opened_ns) / kShare;
}

// Records that an allocation has waited since `since_ns`. `passed` is true if the awaited work
// finished in time.
inline void NoteWait(PoolParts* parts, const AllocationAttempt& attempt, uint64_t since_ns,
                     bool passed) {
  const uint64_t duration = parts->Now() - since_ns;
  Bump(&parts->counters.fence_waits, 1);
  Bump(&parts->counters.fence_wait_ns, duration);
  parts->events.Waited(
      {duration, attempt.size, attempt.request.stream, passed ? kDriverSuccess : kDriverNotReady});
}

}  // namespace vramstow

#endif  // VRAMSTOW_ALLOCATOR_POOL_WAIT_BUDGET_H_
