// Planner: chooses the pages at which chunks make room for a block, and maps them there.
//
// Idea: each hole is considered alone or together with the free spans beside it. The planner
// chooses the pages that need the fewest chunks. Of equal choices it takes the one that leaves the
// smallest free piece, or in a repeating job the one that needs the fewest driver calls. In a
// repeating job the block's predicted address is tried first.
//
// Ownership: none. Threads: the heap's lock and the device's lock. Errors: DriverResult. Units:
// bytes.
#ifndef VRAMSTOW_ALLOCATOR_PLACEMENT_PLANNER_H_
#define VRAMSTOW_ALLOCATOR_PLACEMENT_PLANNER_H_

#include <cstdint>

#include "allocator/core/device_lock.h"
#include "allocator/placement/heap_pages.h"
#include "allocator/placement/placement_predictor.h"

namespace vramstow {

class Planner {
 public:
  // Examines the address that is predicted for the block. With `recall`, chunks may return to pages
  // where they were before. Returns true if the address can be used without a driver call; *plan is
  // then the plan for it.
  bool Begin(const HeapPages& heap, PlacementPredictor* predictor, uint64_t size, bool recall,
             Plan* plan) VRAMSTOW_REQUIRES(kDeviceLock);
  // Sets *plan to the best plan; call Begin first. Returns false if the heap's regions have no
  // room.
  bool Find(const HeapPages& heap, bool repeating, uint64_t size, Plan* plan) const
      VRAMSTOW_REQUIRES(kDeviceLock);
  // Sets *plan to a plan at the start of this hole, which is large enough and was never mapped.
  void PlanIn(const HeapPages& heap, uint32_t hole, uint64_t size, Plan* plan) const
      VRAMSTOW_REQUIRES(kDeviceLock);
  // Puts idle chunks of the store to use at the plan's pages, which become a free span.
  static DriverResult Execute(const HeapPages& heap, const Plan& plan)
      VRAMSTOW_REQUIRES(kDeviceLock);

  // The number with which Begin has marked the pages that were free then; 0 if no page was marked.
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
  Plan repeated_;  // the plan at the predicted address
  bool has_repeated_ = false;
};

}  // namespace vramstow

#endif  // VRAMSTOW_ALLOCATOR_PLACEMENT_PLANNER_H_
