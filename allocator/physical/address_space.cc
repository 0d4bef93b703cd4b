#include "allocator/physical/address_space.h"

#include <bit>

#include "allocator/core/host_memory.h"
#include "base/rounding.h"

namespace vramstow {

void AddressSpace::Open(const DriverTable* driver, const PoolEvents* events, uint64_t page_bytes,
                        uint64_t wanted, uint64_t least) {
  driver_ = driver;
  events_ = events;
  page_bytes_ = page_bytes;
  step_bytes_ = RoundUp(kStepBytes, page_bytes);
  const uint64_t most = page_bytes << (kPageBits - 1);
  wanted_ = RoundUp(wanted < most ? wanted : most, step_bytes_);
  least_ = RoundUp(least, step_bytes_);
}

void AddressSpace::Close(bool alive) {
  const int count = count_.exchange(0);
  for (int i = 0; i < count; ++i) {
    Arena& arena = arenas_[i];
    if (alive && !arena.window) {
      events_->Address(EventKind::kUnreserve, arena.address, arena.size);
      driver_->unreserve(driver_->self, arena.address, arena.size);
    }
    FreeTables(&arena, page_bytes_);
  }
}

// Allocates the tables of an arena. Returns false, and changes nothing, if there is no memory.
bool AddressSpace::OpenTables(Arena* arena, uint64_t address, uint64_t size, uint64_t step) {
  Arena made;
  made.address = address;
  made.size = size;
  made.step_shift = std::countr_zero(step);
  made.heaps = static_cast<std::atomic<uint16_t>*>(
      AllocateHostMemory((size >> made.step_shift) * sizeof(uint16_t)));
  made.pages = static_cast<Page*>(AllocateHostMemory(size / page_bytes_ * sizeof(Page)));
  made.touches =
      static_cast<PageTouches*>(AllocateHostMemory(size / page_bytes_ * sizeof(PageTouches)));
  if (made.heaps == nullptr || made.pages == nullptr || made.touches == nullptr) {
    FreeTables(&made, page_bytes_);
    return false;
  }
  *arena = made;
  return true;
}

void AddressSpace::FreeTables(Arena* arena, uint64_t page_bytes) {
  const uint64_t pages = arena->size / page_bytes;
  if (arena->heaps != nullptr) {
    FreeHostMemory(arena->heaps, (arena->size >> arena->step_shift) * sizeof(uint16_t));
  }
  if (arena->pages != nullptr) FreeHostMemory(arena->pages, pages * sizeof(Page));
  if (arena->touches != nullptr) FreeHostMemory(arena->touches, pages * sizeof(PageTouches));
  *arena = Arena();
}

DriverResult AddressSpace::AddArena(uint64_t least) {
  const int count = count_.load(std::memory_order_relaxed);
  if (count == kMaxArenas) return kDriverOutOfMemory;
  DriverResult result = kDriverOutOfMemory;
  uint64_t size = wanted_ > least ? wanted_ : least;
  uint64_t address = 0;
  for (;;) {
    result = driver_->reserve(driver_->self, size, page_bytes_, &address);
    if (result == kDriverSuccess) break;
    if (result != kDriverOutOfMemory || size / 2 < least) return result;
    size = RoundUp(size / 2, step_bytes_);
  }
  if (!OpenTables(&arenas_[count], address, size, step_bytes_)) {
    driver_->unreserve(driver_->self, address, size);
    return kDriverOutOfMemory;
  }
  events_->Address(EventKind::kReserve, address, size);
  count_.store(count + 1, std::memory_order_release);
  return kDriverSuccess;
}

DriverResult AddressSpace::ReserveRegion(uint64_t size, uint16_t heap, uint64_t* address,
                                         uint64_t* region_size) {
  size = RoundUp(size, step_bytes_);
  for (int attempt = 0; attempt < 2; ++attempt) {
    const int count = count_.load(std::memory_order_relaxed);
    for (int i = 0; i < count; ++i) {
      Arena& arena = arenas_[i];
      if (arena.window || arena.size - arena.used < size) continue;
      *address = arena.address + arena.used;
      *region_size = size;
      for (uint64_t at = 0; at < size; at += step_bytes_) {
        arena.heaps[(arena.used + at) >> arena.step_shift].store(heap, std::memory_order_release);
      }
      arena.used += size;
      return kDriverSuccess;
    }
    if (attempt == 1) break;
    const DriverResult result = AddArena(size > least_ ? size : least_);
    if (result != kDriverSuccess) return result;
  }
  return kDriverOutOfMemory;
}

// --- Segments -----------------------------------------------------------------------------------

// Adds the window that contains the address, unless the address lies in an arena already.
DriverResult AddressSpace::AddWindow(uint64_t address) {
  const int count = count_.load(std::memory_order_relaxed);
  for (int i = 0; i < count; ++i) {
    if (address - arenas_[i].address < arenas_[i].size) return kDriverSuccess;
  }
  if (count == kMaxArenas) return kDriverOutOfMemory;
  const uint64_t start = address / kWindowBytes * kWindowBytes;
  if (!OpenTables(&arenas_[count], start, kWindowBytes, page_bytes_)) return kDriverOutOfMemory;
  arenas_[count].window = true;
  count_.store(count + 1, std::memory_order_release);
  return kDriverSuccess;
}

void AddressSpace::Mark(uint64_t address, uint64_t size, uint16_t heap) {
  for (uint64_t at = address; at < address + size; at += page_bytes_) {
    const Arena& arena = arenas_[ArenaOf(at)];
    arena.heaps[(at - arena.address) >> arena.step_shift].store(heap, std::memory_order_release);
  }
}

DriverResult AddressSpace::AddSegmentSpace(uint64_t address, uint64_t size, uint16_t heap) {
  for (uint64_t at = address; at < address + size; at += page_bytes_) {
    const DriverResult result = AddWindow(at);
    if (result != kDriverSuccess) return result;
  }
  Mark(address, size, heap);
  return kDriverSuccess;
}

bool AddressSpace::Owns(uint64_t address) const {
  const int count = count_.load(std::memory_order_acquire);
  for (int i = 0; i < count; ++i) {
    const Arena& arena = arenas_[i];
    if (address - arena.address >= arena.size) continue;
    return !arena.window || HeapOf(address) != kNoHeap;
  }
  return false;
}

int AddressSpace::ArenaOf(uint64_t address) const {
  int i = 0;
  while (address - arenas_[i].address >= arenas_[i].size) ++i;
  return i;
}

Page& AddressSpace::PageAt(uint64_t address) {
  const Arena& arena = arenas_[ArenaOf(address)];
  return arena.pages[(address - arena.address) / page_bytes_];
}

uint32_t AddressSpace::NumberOf(uint64_t address) const {
  const int i = ArenaOf(address);
  const auto page = static_cast<uint32_t>((address - arenas_[i].address) / page_bytes_);
  return (static_cast<uint32_t>(i) << kPageBits | page) + 1;
}

uint64_t AddressSpace::AddressOf(uint32_t number) const {
  const uint32_t page = (number - 1) & ((uint32_t{1} << kPageBits) - 1);
  return arenas_[(number - 1) >> kPageBits].address + page * page_bytes_;
}

Page& AddressSpace::operator[](uint32_t number) {
  const uint32_t page = (number - 1) & ((uint32_t{1} << kPageBits) - 1);
  return arenas_[(number - 1) >> kPageBits].pages[page];
}

// If two threads touch a page at the same moment a gap may be lost, which does no harm: gaps are
// only hints.
AddressSpace::PageTouches* AddressSpace::FindTouches(uint64_t address) const {
  const int count = count_.load(std::memory_order_acquire);
  for (int i = 0; i < count; ++i) {
    const uint64_t offset = address - arenas_[i].address;
    if (offset < arenas_[i].size) return &arenas_[i].touches[offset / page_bytes_];
  }
  return nullptr;
}

uint32_t AddressSpace::UsesOf(const PageTouches& page) const {
  const uint32_t uses = page.uses.load(std::memory_order_relaxed);
  return (uses & ~kMostUses) == NumberOfCount() ? uses & kMostUses : 0;
}

bool AddressSpace::Touch(uint64_t address, uint32_t when) {
  constexpr uint32_t kMoment = 2;  // touches that are less apart belong to one use
  constexpr uint32_t kLongestGap = 0xFFFF;
  PageTouches* const page = FindTouches(address);
  if (page == nullptr) return false;
  const uint32_t last = page->last.load(std::memory_order_relaxed);
  if (last == when || (last >= kPinned && when != kHeld)) return false;
  page->last.store(when, std::memory_order_relaxed);
  const uint32_t uses = UsesOf(*page);
  page->uses.store(NumberOfCount() | (uses < kMostUses ? uses + 1 : kMostUses),
                   std::memory_order_relaxed);
  if (last != 0 && when < kPinned && when - last >= kMoment) {
    const uint32_t gap = when - last < kLongestGap ? when - last : kLongestGap;
    const uint64_t gaps = page->gaps.load(std::memory_order_relaxed);
    page->gaps.store(gaps << 16 | gap, std::memory_order_relaxed);
  }
  return true;
}

void AddressSpace::Expose(uint64_t address, uint32_t when) {
  PageTouches* const page = FindTouches(address);
  if (page != nullptr) page->exposed.store(when, std::memory_order_relaxed);
}

AddressSpace::PageTouches& AddressSpace::TouchesOf(uint64_t address) const {
  const Arena& arena = arenas_[ArenaOf(address)];
  return arena.touches[(address - arena.address) / page_bytes_];
}

void AddressSpace::Renew(uint64_t address, uint32_t when) {
  PageTouches& page = TouchesOf(address);
  page.last.store(when, std::memory_order_relaxed);
  page.born.store(when, std::memory_order_relaxed);
  page.uses.store(0, std::memory_order_relaxed);
}

AddressSpace::Touches AddressSpace::TouchesAt(uint64_t address) const {
  const PageTouches& page = TouchesOf(address);
  return {page.last.load(std::memory_order_relaxed), page.gaps.load(std::memory_order_relaxed),
          page.exposed.load(std::memory_order_relaxed), page.born.load(std::memory_order_relaxed),
          UsesOf(page)};
}

uint64_t AddressSpace::reserved_bytes() const {
  uint64_t total = 0;
  const int count = count_.load(std::memory_order_acquire);
  for (int i = 0; i < count; ++i) total += arenas_[i].window ? 0 : arenas_[i].size;
  return total;
}

}  // namespace vramstow
