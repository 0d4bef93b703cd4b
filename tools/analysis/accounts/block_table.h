// BlockTable: live blocks by address, for millions of them.
//
// Idea: with many live blocks nearly all the time of an analysis is spent waiting for memory, so
// as little of it as possible is touched, and it can be asked for in advance. Slots of 16 bytes
// (address, number of the block) lie in a table with linear probing, at most half full: nearly
// always one cache line. Blocks lie apart and those given back last are used first, so that a new
// block finds its memory in the cache. Deleting moves the slots behind back (Knuth, "The Art of
// Computer Programming", vol. 3, 6.4, algorithm R): there are no marks of the dead that would fill
// the table.
//
// Ownership: copies. Threads: one at a time. Errors: none. Units: addresses. Pointers to blocks are
// valid until the next Insert. Blocks have births other than 0.
#ifndef VRAMSTOW_TOOLS_ANALYSIS_ACCOUNTS_BLOCK_TABLE_H_
#define VRAMSTOW_TOOLS_ANALYSIS_ACCOUNTS_BLOCK_TABLE_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "tools/analysis/accounts/address_hash.h"
#include "tools/analysis/accounts/large_array.h"
#include "tools/analysis/accounts/live_block.h"

namespace vramstow {

class BlockTable {
 public:
  BlockTable();

  // Has memory fetch the slot of `address`; some events later what lies there and its block.
  // Inlined by force: else GCC 12 takes them for functions without effect and drops the calls.
  [[gnu::always_inline]] void PrefetchSlot(uint64_t address) const {
    __builtin_prefetch(&slots_[HomeOf(address)], 1);
  }
  [[gnu::always_inline]] void PrefetchBlock(uint64_t address) const {
    const Slot& slot = slots_[HomeOf(address)];
    if (slot.block != kNone) __builtin_prefetch(&blocks_[slot.block], 1);
  }

  // The block at `address`, or null.
  LiveBlock* Find(uint64_t address);
  // Puts `block` at its address. False, and no effect: there is one, which *known then points to.
  bool Insert(const LiveBlock& block, LiveBlock** known);
  // Takes the block at `address` out into *block. False: there is none.
  bool Take(uint64_t address, LiveBlock* block);

  size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }

  template <typename Visit>  // void(const LiveBlock&), in no order
  void ForEach(Visit visit) const {
    // In the order in which they lie in memory.
    const size_t used = size_ + unused_.size();
    for (size_t i = 0; i < used; ++i) {
      if (blocks_[i].birth != 0) visit(blocks_[i]);
    }
  }

  // Takes out those for which `is_wanted` says so, after it has seen them.
  template <typename IsWanted>  // bool(const LiveBlock&)
  void TakeIf(IsWanted is_wanted) {
    std::vector<uint64_t> addresses;
    ForEach([&](const LiveBlock& block) {
      if (is_wanted(block)) addresses.push_back(block.address);
    });
    LiveBlock taken;
    for (uint64_t address : addresses) Take(address, &taken);
  }

 private:
  static constexpr uint32_t kNone = ~uint32_t{0};
  struct Slot {
    uint64_t address = 0;
    uint32_t block = kNone;
  };

  size_t HomeOf(uint64_t address) const {
    return static_cast<size_t>(HashOfAddress(address, seed_)) & mask_;
  }
  // Where `address` is, or where it would go.
  size_t SlotOf(uint64_t address) const {
    size_t slot = HomeOf(address);
    while (slots_[slot].block != kNone && slots_[slot].address != address) {
      slot = (slot + 1) & mask_;
    }
    return slot;
  }
  void Close(size_t hole);
  void Grow();

  uint64_t seed_;
  size_t mask_;
  size_t size_ = 0;
  LargeArray<Slot> slots_;
  LargeArray<LiveBlock>
      blocks_;  // half as many as slots; the first size_ + unused_.size() are in use
  std::vector<uint32_t> unused_;  // of blocks_
};

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_ANALYSIS_ACCOUNTS_BLOCK_TABLE_H_
