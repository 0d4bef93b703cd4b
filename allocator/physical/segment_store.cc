#include "allocator/physical/segment_store.h"

#include "base/rounding.h"

namespace vramstow {

bool SegmentStore::Open(const DriverTable* driver, const PoolEvents* events, AddressSpace* space,
                        MemoryBudget* budget) {
  driver_ = driver;
  events_ = events;
  space_ = space;
  budget_ = budget;
  return segments_.Open(kMaxSegments);
}

DriverResult SegmentStore::Make(uint64_t pages, uint16_t heap, uint64_t* address,
                                uint64_t* usable) {
  if (!segments_.EnsureSpare(1)) return kDriverOutOfMemory;
  committed_.store(segments_.committed_bytes(), std::memory_order_relaxed);
  const uint64_t page = space_->page_bytes();
  const uint64_t taken = pages + (unaligned_ ? 1 : 0);
  uint64_t base = 0;
  DriverResult result = driver_->allocate(driver_->self, taken * page, &base);
  events_->Segment(EventKind::kAllocate, base, taken * page, result);
  if (result != kDriverSuccess) return result;
  // All known drivers return whole, aligned pages. With a driver that does not, one page is lost in
  // two parts.
  if (base % page != 0) unaligned_ = true;
  *address = RoundUp(base, page);
  *usable = base % page == 0 ? taken : taken - 1;
  result =
      *usable == 0 ? kDriverOutOfMemory : space_->AddSegmentSpace(*address, *usable * page, heap);
  if (result != kDriverSuccess) {
    events_->Segment(EventKind::kFree, base, taken * page, kDriverSuccess);
    driver_->free(driver_->self, base);
    return result;
  }
  const uint32_t index = segments_.New();
  segments_[index] = {base, space_->NumberOf(*address), static_cast<uint32_t>(*usable),
                      static_cast<uint32_t>(taken)};
  for (uint32_t i = 0; i < *usable; ++i) (*space_)[segments_[index].first + i].chunk = index;
  lost_pages_ += taken - *usable;
  budget_->Add(taken * page);
  return kDriverSuccess;
}

DriverResult SegmentStore::Release(uint64_t address, bool alive) {
  const uint32_t index = space_->PageAt(address).chunk;
  const Segment segment = segments_[index];
  const uint64_t size = segment.pages * space_->page_bytes();
  const uint16_t heap = space_->HeapOf(address);
  // As soon as the memory is freed, the driver may give its addresses to another allocation. So
  // they leave the pool's address space first.
  space_->DropSegment(address, size);
  const uint64_t paid = segment.taken * space_->page_bytes();
  const uint64_t sequence = events_->Segment(EventKind::kFree, segment.base, paid, kDriverSuccess);
  const DriverResult result = alive ? driver_->free(driver_->self, segment.base) : kDriverSuccess;
  if (result != kDriverSuccess) {
    events_->Refused(sequence, result);
    space_->AddSegmentSpace(address, size, heap);
    return result;
  }
  for (uint32_t i = 0; i < segment.pages; ++i) (*space_)[segment.first + i] = Page();
  lost_pages_ -= segment.taken - segment.pages;
  budget_->Remove(paid);
  segments_.Delete(index);
  return kDriverSuccess;
}

}  // namespace vramstow
