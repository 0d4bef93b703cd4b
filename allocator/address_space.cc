#include "allocator/address_space.h"

#include "allocator/host_memory.h"

namespace vramstow {
namespace {

uint64_t RoundUp(uint64_t value, uint64_t unit) { return (value + unit - 1) / unit * unit; }

}  // namespace

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
    if (alive) {
      events_->Address(EventKind::kUnreserve, arena.address, arena.size);
      driver_->unreserve(driver_->self, arena.address, arena.size);
    }
    FreeHostMemory(arena.heaps, arena.size / step_bytes_ * sizeof(uint16_t));
    FreeHostMemory(arena.pages, arena.size / page_bytes_ * sizeof(Page));
    FreeHostMemory(arena.touched, arena.size / page_bytes_ * sizeof(uint32_t));
    arena = Arena();
  }
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
  Arena& arena = arenas_[count];
  const uint64_t of_heaps = size / step_bytes_ * sizeof(uint16_t);
  const uint64_t of_pages = size / page_bytes_ * sizeof(Page);
  const uint64_t of_touches = size / page_bytes_ * sizeof(uint32_t);
  arena.heaps = static_cast<std::atomic<uint16_t>*>(AllocateHostMemory(of_heaps));
  arena.pages = static_cast<Page*>(AllocateHostMemory(of_pages));
  arena.touched = static_cast<std::atomic<uint32_t>*>(AllocateHostMemory(of_touches));
  if (arena.heaps == nullptr || arena.pages == nullptr || arena.touched == nullptr) {
    if (arena.heaps != nullptr) FreeHostMemory(arena.heaps, of_heaps);
    if (arena.pages != nullptr) FreeHostMemory(arena.pages, of_pages);
    if (arena.touched != nullptr) FreeHostMemory(arena.touched, of_touches);
    arena = Arena();
    driver_->unreserve(driver_->self, address, size);
    return kDriverOutOfMemory;
  }
  arena.address = address;
  arena.size = size;
  arena.used = 0;
  events_->Address(EventKind::kReserve, address, size);
  count_.store(count + 1, std::memory_order_release);
  return kDriverSuccess;
}

DriverResult AddressSpace::TakeRegion(uint64_t size, uint16_t heap, uint64_t* address,
                                      uint64_t* region_size) {
  size = RoundUp(size, step_bytes_);
  for (int attempt = 0; attempt < 2; ++attempt) {
    const int count = count_.load(std::memory_order_relaxed);
    for (int i = 0; i < count; ++i) {
      Arena& arena = arenas_[i];
      if (arena.size - arena.used < size) continue;
      *address = arena.address + arena.used;
      *region_size = size;
      for (uint64_t at = 0; at < size; at += step_bytes_) {
        arena.heaps[(arena.used + at) / step_bytes_].store(heap, std::memory_order_release);
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

bool AddressSpace::Owns(uint64_t address) const {
  const int count = count_.load(std::memory_order_acquire);
  for (int i = 0; i < count; ++i) {
    if (address - arenas_[i].address < arenas_[i].size) return true;
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

void AddressSpace::Touch(uint64_t address, uint32_t when) {
  const int count = count_.load(std::memory_order_acquire);
  for (int i = 0; i < count; ++i) {
    const uint64_t offset = address - arenas_[i].address;
    if (offset >= arenas_[i].size) continue;
    std::atomic<uint32_t>& touched = arenas_[i].touched[offset / page_bytes_];
    if (touched.load(std::memory_order_relaxed) != kPinned) {
      touched.store(when, std::memory_order_relaxed);
    }
    return;
  }
}

void AddressSpace::Renew(uint64_t address, uint32_t when) {
  const Arena& arena = arenas_[ArenaOf(address)];
  arena.touched[(address - arena.address) / page_bytes_].store(when, std::memory_order_relaxed);
}

uint32_t AddressSpace::TouchedAt(uint64_t address) const {
  const Arena& arena = arenas_[ArenaOf(address)];
  return arena.touched[(address - arena.address) / page_bytes_].load(std::memory_order_relaxed);
}

uint64_t AddressSpace::reserved_bytes() const {
  uint64_t total = 0;
  const int count = count_.load(std::memory_order_acquire);
  for (int i = 0; i < count; ++i) total += arenas_[i].size;
  return total;
}

}  // namespace vramstow
