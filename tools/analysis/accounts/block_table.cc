#include "tools/analysis/accounts/block_table.h"

#include <random>
#include <utility>

namespace vramstow {
namespace {

constexpr size_t kFirstSlots = 64;

// Returns the seed, which stays the same for the whole life of the process.
uint64_t AddressHashSeed() {
  static const uint64_t seed = [] {
    std::random_device random;
    return uint64_t{random()} << 32 | random();
  }();
  return seed;
}

}  // namespace

BlockTable::BlockTable()
    : seed_(AddressHashSeed()),
      mask_(kFirstSlots - 1),
      slots_(kFirstSlots),
      blocks_(kFirstSlots / 2) {}

LiveBlock* BlockTable::Find(uint64_t address) {
  const Slot& slot = slots_[SlotOf(address)];
  return slot.block == kNone ? nullptr : &blocks_[slot.block];
}

bool BlockTable::Insert(const LiveBlock& block, LiveBlock** known) {
  Slot* slot = &slots_[SlotOf(block.address)];
  if (slot->block != kNone) {
    *known = &blocks_[slot->block];
    return false;
  }
  if (2 * (size_ + 1) > slots_.size()) [[unlikely]] {
    Grow();
    slot = &slots_[SlotOf(block.address)];
  }
  uint32_t number;
  if (unused_.empty()) {
    number = static_cast<uint32_t>(size_);
  } else {
    number = unused_.back();
    unused_.pop_back();
  }
  blocks_[number] = block;
  *slot = {block.address, number};
  ++size_;
  return true;
}

bool BlockTable::Take(uint64_t address, LiveBlock* block) {
  const size_t slot = SlotOf(address);
  const uint32_t number = slots_[slot].block;
  if (number == kNone) return false;
  *block = blocks_[number];
  blocks_[number].birth = 0;
  unused_.push_back(number);
  Close(slot);
  --size_;
  return true;
}

// Closes the gap that a removed block left in the slot `hole`: moves back the blocks behind it that
// linear probing would no longer find.
void BlockTable::Close(size_t hole) {
  for (size_t next = (hole + 1) & mask_; slots_[next].block != kNone; next = (next + 1) & mask_) {
    const size_t home = HomeOf(slots_[next].address);
    if (((next - home) & mask_) < ((next - hole) & mask_)) continue;
    slots_[hole] = slots_[next];
    hole = next;
  }
  slots_[hole].block = kNone;
}

void BlockTable::Grow() {
  LargeArray<Slot> old = std::exchange(slots_, LargeArray<Slot>(2 * slots_.size()));
  mask_ = slots_.size() - 1;
  blocks_ = LargeArray<LiveBlock>(slots_.size() / 2, blocks_);
  for (size_t i = 0; i < old.size(); ++i) {
    if (old[i].block != kNone) slots_[SlotOf(old[i].address)] = old[i];
  }
}

}  // namespace vramstow
