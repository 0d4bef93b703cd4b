#include "tools/analysis/pass/block_table.h"

#include <utility>

namespace vramstow {
namespace {

constexpr size_t kFirstPlaces = 64;

}  // namespace

BlockTable::BlockTable()
    : seed_(AddressHashSeed()),
      mask_(kFirstPlaces - 1),
      places_(kFirstPlaces),
      blocks_(kFirstPlaces / 2) {}

LiveBlock* BlockTable::Find(uint64_t address) {
  const Place& place = places_[PlaceOf(address)];
  return place.block == kNone ? nullptr : &blocks_[place.block];
}

bool BlockTable::Insert(const LiveBlock& block, LiveBlock** known) {
  Place* place = &places_[PlaceOf(block.address)];
  if (place->block != kNone) {
    *known = &blocks_[place->block];
    return false;
  }
  if (2 * (size_ + 1) > places_.size()) [[unlikely]] {
    Grow();
    place = &places_[PlaceOf(block.address)];
  }
  uint32_t number;
  if (unused_.empty()) {
    number = static_cast<uint32_t>(size_);
  } else {
    number = unused_.back();
    unused_.pop_back();
  }
  blocks_[number] = block;
  *place = {block.address, number};
  ++size_;
  return true;
}

bool BlockTable::Take(uint64_t address, LiveBlock* block) {
  const size_t place = PlaceOf(address);
  const uint32_t number = places_[place].block;
  if (number == kNone) return false;
  *block = blocks_[number];
  blocks_[number].birth = 0;
  unused_.push_back(number);
  Close(place);
  --size_;
  return true;
}

// Moves those behind `hole` that may not have it before them.
void BlockTable::Close(size_t hole) {
  for (size_t next = (hole + 1) & mask_; places_[next].block != kNone; next = (next + 1) & mask_) {
    const size_t home = HomeOf(places_[next].address);
    if (((next - home) & mask_) < ((next - hole) & mask_)) continue;
    places_[hole] = places_[next];
    hole = next;
  }
  places_[hole].block = kNone;
}

void BlockTable::Grow() {
  LargeArray<Place> old = std::exchange(places_, LargeArray<Place>(2 * places_.size()));
  mask_ = places_.size() - 1;
  blocks_ = LargeArray<LiveBlock>(places_.size() / 2, blocks_);
  for (size_t i = 0; i < old.size(); ++i) {
    if (old[i].block != kNone) places_[PlaceOf(old[i].address)] = old[i];
  }
}

}  // namespace vramstow
