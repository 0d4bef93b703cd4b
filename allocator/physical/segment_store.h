// SegmentStore: memory of the plain driver as what a pool is made of, where there is no virtual
// memory. Its physical memory cannot move: a segment is taken and given back whole.
//
// Ownership: the segments, until they are released one by one. Threads: the device's lock. Errors:
// DriverResult; nothing was done then. Units: bytes; pages.
#ifndef VRAMSTOW_ALLOCATOR_PHYSICAL_SEGMENT_STORE_H_
#define VRAMSTOW_ALLOCATOR_PHYSICAL_SEGMENT_STORE_H_

#include <cstdint>

#include "allocator/core/device_lock.h"
#include "allocator/core/driver.h"
#include "allocator/core/events.h"
#include "allocator/core/slab.h"
#include "allocator/physical/address_space.h"
#include "allocator/physical/memory_budget.h"

namespace vramstow {

class SegmentStore {
 public:
  bool Open(const DriverTable* driver, const PoolEvents* events, AddressSpace* space,
            MemoryBudget* budget);
  void Close() { segments_.Close(); }

  // Takes `pages` of the plain driver, for the heap of this number: *usable pages from *address on
  // are in use for good, and lie in the address space.
  DriverResult Make(uint64_t pages, uint16_t heap, uint64_t* address, uint64_t* usable)
      VRAMSTOW_REQUIRES(kDeviceLock);
  // Gives the segment back that begins at this address. No work touches it. `alive` false: the
  // driver has done so already.
  DriverResult Release(uint64_t address, bool alive) VRAMSTOW_REQUIRES(kDeviceLock);
  // Whether a segment begins here.
  bool IsSegment(uint64_t address) const { return space_->PageAt(address).chunk != 0; }
  // What was paid for and is of no use, because the driver does not align whole pages.
  uint64_t lost_bytes() const VRAMSTOW_REQUIRES(kDeviceLock) {
    return lost_pages_ * space_->page_bytes();
  }
  uint64_t committed_bytes() const VRAMSTOW_NO_LOCK_ANALYSIS {
    return committed_.load(std::memory_order_relaxed);
  }

 private:
  static constexpr uint32_t kMaxSegments = uint32_t{1} << 20;

  struct Segment {
    uint64_t base;   // the address that the driver gave
    uint32_t first;  // number of the first page of use
    uint32_t pages;  // how many are of use
    uint32_t taken;  // how many were paid for
  };

  const DriverTable* driver_ = nullptr;
  const PoolEvents* events_ = nullptr;
  AddressSpace* space_ = nullptr;
  MemoryBudget* budget_ = nullptr;
  Slab<Segment> segments_;
  bool unaligned_ VRAMSTOW_GUARDED_BY(kDeviceLock) = false;  // the driver aligns no whole pages
  uint64_t lost_pages_ VRAMSTOW_GUARDED_BY(kDeviceLock) = 0;
  std::atomic<uint64_t> committed_{0};
};

}  // namespace vramstow

#endif  // VRAMSTOW_ALLOCATOR_PHYSICAL_SEGMENT_STORE_H_
