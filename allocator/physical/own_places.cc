#include "allocator/physical/own_places.h"

#include <algorithm>

#include "allocator/core/host_memory.h"

namespace vramstow {

void OwnPlaces::Open(const DriverTable* driver, const PoolEvents* events, uint64_t chunk_bytes) {
  driver_ = driver;
  events_ = events;
  chunk_bytes_ = chunk_bytes;
  count_ = 0;
}

void OwnPlaces::Close(bool alive) {
  for (uint32_t i = 0; alive && i < count_; ++i) {
    events_->Address(EventKind::kUnreserve, ranges_[i].address, RangeBytes());
    driver_->unreserve(driver_->self, ranges_[i].address, RangeBytes());
  }
  if (ranges_ != nullptr) FreeHostMemory(ranges_, kMaxRanges * sizeof(Range));
  ranges_ = nullptr;
  count_ = 0;
}

bool OwnPlaces::Grow() {
  if (ranges_ == nullptr) {
    ranges_ = static_cast<Range*>(AllocateHostMemory(kMaxRanges * sizeof(Range)));
  }
  if (ranges_ == nullptr || count_ == kMaxRanges) return false;
  uint64_t address = 0;
  if (driver_->reserve(driver_->self, RangeBytes(), chunk_bytes_, &address) != kDriverSuccess) {
    return false;
  }
  events_->Address(EventKind::kReserve, address, RangeBytes());
  ranges_[count_++].address = address;
  return true;
}

uint64_t OwnPlaces::Take() {
  uint32_t number = 0;
  while (number < count_ && ranges_[number].used == kPlaces) ++number;
  if (number == count_ && !Grow()) return 0;
  Range& range = ranges_[number];
  const auto place =
      static_cast<uint32_t>(std::find(range.taken, range.taken + kPlaces, false) - range.taken);
  range.taken[place] = true;
  ++range.used;
  return range.address + place * chunk_bytes_;
}

void OwnPlaces::Give(uint64_t address) {
  for (uint32_t i = 0; i < count_; ++i) {
    Range& range = ranges_[i];
    if (address < range.address || address - range.address >= RangeBytes()) continue;
    range.taken[(address - range.address) / chunk_bytes_] = false;
    --range.used;
  }
}

}  // namespace vramstow
