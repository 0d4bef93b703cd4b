// Planner: finds where chunks make room for a block, and puts them there.
//
// Idea: of all holes, alone or together with the free spans beside them, the place that needs the
// fewest chunks; of equals the one that leaves the smallest piece over, and in a job that repeats
// the one that needs the fewest steps of the driver. In such a job the block's own place comes
// first, if it can be had.
//
// Ownership: none. Threads: the heap's lock and the device's. Errors: DriverResult. Units: bytes.
#ifndef VRAMSTOW_ALLOCATOR_PLACEMENT_PLANNER_H_
#define VRAMSTOW_ALLOCATOR_PLACEMENT_PLANNER_H_

#include <cstdint>

#include "allocator/core/device_lock.h"
#include "allocator/placement/heap_pages.h"
#include "allocator/placement/placement_predictor.h"

namespace vramstow {

class Planner {
 public:
  // Looks at the place that is predicted for the block. With `recall`, chunks that were at a place
  // before may come back to it. True: the place can be had without the driver; *plan is it.
  bool Begin(const HeapPages& heap, PlacementPredictor* predictor, uint64_t size, bool recall,
             Plan* plan) VRAMSTOW_REQUIRES(kDeviceLock);
  // After Begin: the best plan. False: the heap's regions have no room.
  bool Find(const HeapPages& heap, bool repeating, uint64_t size, Plan* plan) const
      VRAMSTOW_REQUIRES(kDeviceLock);
  // The plan for the start of this hole, which is large enough and was never mapped.
  void PlanIn(const HeapPages& heap, uint32_t hole, uint64_t size, Plan* plan) const
      VRAMSTOW_REQUIRES(kDeviceLock);
  // Puts idle chunks of the store to use at the plan's pages: they become a free span.
  static DriverResult Execute(const HeapPages& heap, const Plan& plan)
      VRAMSTOW_REQUIRES(kDeviceLock);

  // The mark of the pages that were free when Begin was called; 0: none has one.
  uint32_t mark() const { return mark_; }

 private:
  void MarkFreePages(const HeapPages& heap, bool recall) VRAMSTOW_REQUIRES(kDeviceLock);
  uint64_t CostOf(const HeapPages& heap, const Plan& plan) const VRAMSTOW_REQUIRES(kDeviceLock);
  uint64_t FirstPossible(const HeapPages& heap, const Span& hole, uint64_t count) const
      VRAMSTOW_REQUIRES(kDeviceLock);
  void Consider(const HeapPages& heap, bool repeating, uint32_t hole, uint64_t size,
                Plan* plan) const VRAMSTOW_REQUIRES(kDeviceLock);
  void Offer(const HeapPages& heap, bool repeating, Plan offered, Plan* plan) const
      VRAMSTOW_REQUIRES(kDeviceLock);
  bool PlanAt(const HeapPages& heap, uint64_t place, uint64_t size, Plan* plan) const
      VRAMSTOW_REQUIRES(kDeviceLock);

  uint32_t mark_ = 0;
  Plan repeated_;  // at the place that was predicted
  bool has_repeated_ = false;
};

}  // namespace vramstow

#endif  // VRAMSTOW_ALLOCATOR_PLACEMENT_PLANNER_H_
