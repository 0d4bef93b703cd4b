// Stripper: moves the chunks of one heap's whole free pages to the store, where any heap can use
// them. The pages become holes.
//
// Ownership: none; the object lives for one step. Threads: the heap's lock and the device's lock.
// Errors: StripResult::result. Units: pages.
#ifndef VRAMSTOW_ALLOCATOR_PLACEMENT_STRIPPER_H_
#define VRAMSTOW_ALLOCATOR_PLACEMENT_STRIPPER_H_

#include <cstdint>

#include "allocator/core/device_lock.h"
#include "allocator/placement/heap_pages.h"

namespace vramstow {

struct StripResult {
  uint64_t pages = 0;    // pages of the device that are now in the store
  uint64_t waiting = 0;  // pages that only wait for a fence
  DriverResult result = kDriverSuccess;
};

class Stripper {
 public:
  explicit Stripper(const HeapPages& heap) : heap_(heap) {}

  // Moves the chunks of up to `count` whole free pages to the store. The pages were freed in the
  // epoch `before_epoch` or earlier, and their spans do not touch the plan. In two cases only pages
  // that no unfinished work touches are taken: if the chunks are for another stream (`own` is
  // false), and if chunks leave no shadow. Large chunks leave as a whole, and only if single chunks
  // are not enough, so there may be more pages than `count`.
  StripResult Strip(uint64_t count, uint32_t before_epoch, const Plan& plan, bool own)
      VRAMSTOW_REQUIRES(kDeviceLock);
  // True if a page of a block is parked (unmapped, with its data on the host). Such a block stays
  // pending when it is freed, because the page may not be used until it is restored together with a
  // neighbour's data.
  bool IsParked(uint32_t index) const VRAMSTOW_REQUIRES(kDeviceLock);
  // Moves the host-memory chunks of a free span's whole pages to the store, unless unfinished work
  // may touch them.
  void DropHostPages(uint32_t index) VRAMSTOW_REQUIRES(kDeviceLock);
  // Calls DropHostPages for every free span.
  void DropHostPages() VRAMSTOW_REQUIRES(kDeviceLock);

 private:
  // How many free spans are processed at once.
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
