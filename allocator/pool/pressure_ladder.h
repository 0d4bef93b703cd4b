// PressureLadder: serves allocations that cached memory could not serve.
//
// Idea: an attempt is made under the pool's locks (steps 1 to 4 of docs/pool.md). If it fails, the
// pool reclaims memory without any lock, step by step in the order of the table kReclaimSteps, and
// tries again after each step. Each step is bounded, and the out-of-memory report lists what each
// step freed.
//
// Ownership: none. Threads: any. Errors: PoolError; details are in the out-of-memory report. Units:
// bytes.
#ifndef VRAMSTOW_ALLOCATOR_POOL_PRESSURE_LADDER_H_
#define VRAMSTOW_ALLOCATOR_POOL_PRESSURE_LADDER_H_

#include <cstdint>

#include "allocator/pool/attempt.h"
#include "allocator/pool/parts.h"
#include "allocator/pool/report.h"
#include "allocator/pool/segment_backing.h"
#include "allocator/pool/trimmer.h"

namespace vramstow {

class PressureLadder {
 public:
  void Open(PoolParts* parts, Trimmer* trimmer, SegmentBacking* segments);

  // Serves a request; `size` is the requested size after rounding.
  PoolError Allocate(const BlockRequest& request, uint64_t size, Block* block);
  // Refuses a request that no pool can serve, and writes a report about it.
  PoolError Refuse(const BlockRequest& request);
  // Returns the last out-of-memory report; its number is 0 if there was none.
  OutOfMemoryReport LastReport() const VRAMSTOW_REQUIRES(kDeviceLock) { return report_; }

 private:
  // A step that reclaims memory. Returns true if another attempt is worthwhile.
  using Step = bool (PressureLadder::*)(AllocationAttempt* attempt);
  static const Step kReclaimSteps[];

  enum class Outcome : uint8_t { kServed, kNotServed, kNoRecords };

  Outcome Attempt(AllocationAttempt* attempt, Block* block);
  bool FindHeap(AllocationAttempt* attempt) VRAMSTOW_REQUIRES(kDeviceLock);
  bool TryLocked(AllocationAttempt* attempt) VRAMSTOW_REQUIRES(kDeviceLock, attempt->heap->mutex);
  bool TryFences(AllocationAttempt* attempt) VRAMSTOW_REQUIRES(kDeviceLock, attempt->heap->mutex);

  bool RunHooks(AllocationAttempt* attempt);
  bool Offload(AllocationAttempt* attempt);
  bool WaitForEverything(AllocationAttempt* attempt);
  bool OffloadAgain(AllocationAttempt* attempt);
  bool Reclaim(AllocationAttempt* attempt, uint64_t (*reclaim)(void* context, uint64_t bytes));
  bool CollectYoung(AllocationAttempt* attempt);
  bool CollectAll(AllocationAttempt* attempt);
  bool MayCollect(const AllocationAttempt& attempt) const;
  bool Collect(AllocationAttempt* attempt, bool all);
  bool WaitUntil(uint64_t deadline_ns);
  PoolError LeaveToDriver(const AllocationAttempt& attempt);
  PoolError Refuse(const AllocationAttempt& attempt);

  PoolParts* parts_ = nullptr;
  Trimmer* trimmer_ = nullptr;
  SegmentBacking* segments_ = nullptr;
  OutOfMemoryReport report_ VRAMSTOW_GUARDED_BY(kDeviceLock){};
};

}  // namespace vramstow

#endif  // VRAMSTOW_ALLOCATOR_POOL_PRESSURE_LADDER_H_
