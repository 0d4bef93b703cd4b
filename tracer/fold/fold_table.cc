#include "tracer/fold/fold_table.h"

#include <sys/mman.h>

#include <bit>

namespace vramstow {

FoldBlock* FoldTable::NewBlocks(size_t slots) {
  void* const memory = mmap(nullptr, slots * sizeof(FoldBlock), PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return memory == MAP_FAILED ? nullptr : static_cast<FoldBlock*>(memory);
}

bool FoldTable::Start() {
  blocks_ = NewBlocks(kFirstSlots);
  slots_ = blocks_ == nullptr ? 0 : kFirstSlots;
  shift_ = 64 - static_cast<unsigned>(std::countr_zero(kFirstSlots));
  count_ = 0;
  return blocks_ != nullptr;
}

void FoldTable::Stop() {
  if (blocks_ != nullptr) munmap(blocks_, slots_ * sizeof(FoldBlock));
  blocks_ = nullptr;
  slots_ = count_ = 0;
}

FoldBlock* FoldTable::Find(uint64_t key) {
  for (size_t slot = Home(key);; slot = (slot + 1) & (slots_ - 1)) {
    if (blocks_[slot].key == key) return &blocks_[slot];
    if (blocks_[slot].key == 0) return nullptr;
  }
}

bool FoldTable::Insert(const FoldBlock& block) {
  if (count_ + 1 > slots_ / 8 * 7 && !Grow()) return false;
  size_t slot = Home(block.key);
  while (blocks_[slot].key != 0) slot = (slot + 1) & (slots_ - 1);
  blocks_[slot] = block;
  ++count_;
  return true;
}

void FoldTable::Erase(FoldBlock* block) {
  const size_t mask = slots_ - 1;
  size_t hole = static_cast<size_t>(block - blocks_);
  for (size_t next = (hole + 1) & mask; blocks_[next].key != 0; next = (next + 1) & mask) {
    // Moves the entry into the empty slot, unless its home slot lies behind that slot.
    const size_t distance = (next - Home(blocks_[next].key)) & mask;
    if (distance < ((next - hole) & mask)) continue;
    blocks_[hole] = blocks_[next];
    hole = next;
  }
  blocks_[hole].key = 0;
  --count_;
}

bool FoldTable::Grow() {
  if (slots_ == kMaxSlots) return false;
  FoldBlock* const grown = NewBlocks(slots_ * 2);
  if (grown == nullptr) return false;
  FoldBlock* const before = blocks_;
  const size_t slots_before = slots_;
  blocks_ = grown;
  slots_ *= 2;
  --shift_;
  count_ = 0;
  for (size_t i = 0; i < slots_before; ++i) {
    if (before[i].key != 0) Insert(before[i]);
  }
  munmap(before, slots_before * sizeof(FoldBlock));
  return true;
}

}  // namespace vramstow
