// SegmentStore: allocates memory of the plain driver in segments, for pools without virtual memory.
// The physical memory of a segment cannot move; a segment is allocated and freed as a whole.
//
// Ownership: the segments, until they are released one by one. Threads: the device's lock. Errors:
// DriverResult; after an error nothing was done. Units: bytes; pages.
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

  // Allocates `pages` of the plain driver for the heap of this number. The *usable pages from
  // *address on lie in the address space and stay in use until Release.
  DriverResult Make(uint64_t pages, uint16_t heap, uint64_t* address, uint64_t* usable)
      VRAMSTOW_REQUIRES(kDeviceLock);
  // Frees the segment that begins at this address. No work touches it. `alive` is false if the
  // context was destroyed, and the memory with it.
  DriverResult Release(uint64_t address, bool alive) VRAMSTOW_REQUIRES(kDeviceLock);
  // True if a segment begins at the address.
  bool IsSegment(uint64_t address) const { return space_->PageAt(address).chunk != 0; }
  // Bytes that are allocated but cannot be used because the driver does not align to whole pages.
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
    uint32_t first;  // number of the first usable page
    uint32_t pages;  // how many pages are usable
    uint32_t taken;  // how many pages were allocated
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
