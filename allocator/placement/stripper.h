// Stripper: takes the chunks of one heap's whole free pages; they go to the store, for whoever
// needs them, and the pages become holes.
//
// Ownership: none; for the length of one step. Threads: the heap's lock and the device's. Errors:
// StripResult::result. Units: pages.
#ifndef VRAMSTOW_ALLOCATOR_PLACEMENT_STRIPPER_H_
#define VRAMSTOW_ALLOCATOR_PLACEMENT_STRIPPER_H_

#include <cstdint>

#include "allocator/core/device_lock.h"
#include "allocator/placement/heap_pages.h"

namespace vramstow {

struct StripResult {
  uint64_t pages = 0;    // of the device; now in the store
  uint64_t waiting = 0;  // pages that only wait for a fence
  DriverResult result = kDriverSuccess;
};

class Stripper {
 public:
  explicit Stripper(const HeapPages& heap) : heap_(heap) {}

  // The chunks of up to `count` whole free pages, freed in the epoch `before_epoch` or earlier, of
  // spans that the plan does not touch. For others than this heap's stream (`own` false), or where
  // chunks leave no shadow, no work may touch them any more. Large chunks go whole, and only where
  // single ones are not enough: the pages may then be more than `count`.
  StripResult Strip(uint64_t count, uint32_t before_epoch, const Plan& plan, bool own)
      VRAMSTOW_REQUIRES(kDeviceLock);
  // Whether a page of a block is parked. Such a block stays pending when it is freed: a neighbour
  // on the page comes back with it, and nobody may use the page before.
  bool IsParked(uint32_t index) const VRAMSTOW_REQUIRES(kDeviceLock);
  // The chunks of a free span's whole pages that lie in host memory, unless work may touch them.
  void DropHostPages(uint32_t index) VRAMSTOW_REQUIRES(kDeviceLock);
  // The same of all free spans.
  void DropHostPages() VRAMSTOW_REQUIRES(kDeviceLock);

 private:
  // Free spans that are dealt with in one go.
  static constexpr int kBatch = 64;

  int FindStrippable(uint32_t before_epoch, const Plan& plan, bool own, uint32_t* batch,
                     uint64_t* waiting) const VRAMSTOW_REQUIRES(kDeviceLock);
  struct Run {
    uint64_t first;
    uint64_t last;
  };
  bool Stays(const Span& span, uint64_t at) const VRAMSTOW_REQUIRES(kDeviceLock);
  bool HasHostPage(const Span& span) const VRAMSTOW_REQUIRES(kDeviceLock);
  Run PagesThatMayGo(const Span& span, bool from_below) const VRAMSTOW_REQUIRES(kDeviceLock);
  void StripBatches(uint64_t count, uint32_t before_epoch, const Plan& plan, bool own,
                    StripResult* strip) VRAMSTOW_REQUIRES(kDeviceLock);
  uint64_t StripSpan(uint32_t index, uint64_t count, DriverResult* result)
      VRAMSTOW_REQUIRES(kDeviceLock);

  const HeapPages& heap_;
  bool takes_large_ = false;
};

}  // namespace vramstow

#endif  // VRAMSTOW_ALLOCATOR_PLACEMENT_STRIPPER_H_
