// BlockTable: live blocks by address, for millions of blocks.
//
// Idea: with many live blocks an analysis spends nearly all its time waiting for memory, so the
// table touches as little memory as possible and can prefetch it. Slots of 16 bytes (address,
// number of the block) lie in a table with linear probing, at most half full, so a look-up nearly
// always touches one cache line. Blocks lie in an array of their own, and the block that was freed
// last is reused first, so that a new block finds its memory in the cache. A deletion moves the
// following slots back (Knuth, "The Art of Computer Programming", vol. 3, 6.4, algorithm R), so the
// table never fills with markers of deleted slots.
//
// Ownership: keeps its own copies. Threads: used by one thread at a time. Errors: none. Units:
// addresses. Pointers to blocks are valid until the next Insert. LiveBlock::birth, the number of
// the event that allocated the block, must not be 0.
#ifndef VRAMSTOW_TOOLS_ANALYSIS_ACCOUNTS_BLOCK_TABLE_H_
#define VRAMSTOW_TOOLS_ANALYSIS_ACCOUNTS_BLOCK_TABLE_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "tools/analysis/accounts/large_array.h"
#include "tools/analysis/accounts/live_block.h"

namespace vramstow {

class BlockTable {
 public:
  BlockTable();

  // PrefetchSlot prefetches the slot of `address`. PrefetchBlock, which is called some events
  // later, prefetches the block that the slot refers to. Both are forced inline, because otherwise
  // GCC 12 regards them as functions without effect and removes the calls.
  [[gnu::always_inline]] void PrefetchSlot(uint64_t address) const {
    __builtin_prefetch(&slots_[HomeOf(address)], 1);
  }
  [[gnu::always_inline]] void PrefetchBlock(uint64_t address) const {
    const Slot& slot = slots_[HomeOf(address)];
    if (slot.block != kNone) __builtin_prefetch(&blocks_[slot.block], 1);
  }

  // Returns the block at `address`, or null if there is none.
  LiveBlock* Find(uint64_t address);
  // Inserts `block` at its address. If there is a block already, returns false, changes nothing,
  // and points *known to the existing block.
  bool Insert(const LiveBlock& block, LiveBlock** known);
  // Removes the block at `address` from the table and stores it in *block. Returns false if there
  // is no such block.
  bool Take(uint64_t address, LiveBlock* block);

  size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }

  template <typename Visit>  // void(const LiveBlock&), in no order
  void ForEach(Visit visit) const {
    // Visits the blocks in the order in which they lie in memory.
    const size_t used = size_ + unused_.size();
    for (size_t i = 0; i < used; ++i) {
      if (blocks_[i].birth != 0) visit(blocks_[i]);
    }
  }

  // Calls `is_wanted` for each block, and removes the blocks for which it returns true.
  template <typename IsWanted>  // bool(const LiveBlock&)
  void RemoveIf(IsWanted is_wanted) {
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

  // Combines the halves of a 128-bit product, as wyhash does (Wang Yi, 2019), so that each bit of
  // the address affects all of the low bits.
  size_t HomeOf(uint64_t address) const {
    __extension__ using Wide = unsigned __int128;
    const Wide product = Wide{address ^ seed_} * 0xA0761D6478BD642Fu;
    return static_cast<size_t>(static_cast<uint64_t>(product) ^
                               static_cast<uint64_t>(product >> 64)) &
           mask_;
  }
  // Returns the slot of `address`, or the empty slot where it would be inserted.
  size_t SlotOf(uint64_t address) const {
    size_t slot = HomeOf(address);
    while (slots_[slot].block != kNone && slots_[slot].address != address) {
      slot = (slot + 1) & mask_;
    }
    return slot;
  }
  void Close(size_t hole);
  void Grow();

  uint64_t seed_;  // differs in each process, because addresses come from untrusted files
  size_t mask_;
  size_t size_ = 0;
  LargeArray<Slot> slots_;
  LargeArray<LiveBlock>
      blocks_;  // half as many as slots; the first size_ + unused_.size() are in use
  std::vector<uint32_t> unused_;  // of blocks_
};

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_ANALYSIS_ACCOUNTS_BLOCK_TABLE_H_
