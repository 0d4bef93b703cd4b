#include "allocator/offload/quiet_blocks.h"

#include <algorithm>

#include "allocator/core/host_memory.h"

namespace vramstow {
namespace {

// Frameworks and the pool round sizes up to this. Nobody uses the bytes behind a tensor in its
// block.
constexpr uint64_t kRounding = 512;

}  // namespace

void QuietBlocks::Close() {
  if (entries_ != nullptr) FreeHostMemory(entries_, room_ * sizeof(Entry));
  entries_ = nullptr;
  room_ = 0;
  count_ = 0;
}

void QuietBlocks::Set(const QuietRange* ranges, uint64_t count) {
  count_ = 0;
  if (count > room_) {
    void* memory = AllocateHostMemory(count * sizeof(Entry));
    if (memory == nullptr) return;
    if (entries_ != nullptr) FreeHostMemory(entries_, room_ * sizeof(Entry));
    entries_ = static_cast<Entry*>(memory);
    room_ = count;
  }
  for (uint64_t i = 0; i < count; ++i) entries_[i] = {ranges[i], 0};
  count_ = count;
  std::sort(entries_, entries_ + count_,
            [](const Entry& a, const Entry& b) { return a.range.address < b.range.address; });
}

// The range that begins where the block does, if it and those behind it cover the block, but for
// what the block was rounded up by. Tensors may be parts of one block.
QuietBlocks::Entry* QuietBlocks::FindCovering(const PageUse& use) const {
  Entry* const end = entries_ + count_;
  Entry* const found = std::lower_bound(
      entries_, end, use.block_address,
      [](const Entry& entry, uint64_t address) { return entry.range.address < address; });
  if (found == end || found->range.address != use.block_address) return nullptr;
  const uint64_t block_end = use.block_address + use.block_bytes;
  uint64_t covered = use.block_address;
  for (const Entry* at = found; at != end && at->range.address <= covered; ++at) {
    covered = std::max(covered, at->range.address + at->range.bytes);
    if (block_end < covered + kRounding) return found;
  }
  return nullptr;
}

uint64_t QuietBlocks::RankAndNote(const void* self, const PageUse& use) {
  Entry* entry = static_cast<const QuietBlocks*>(self)->FindCovering(use);
  if (entry != nullptr) entry->block_id = use.block_id;
  return entry != nullptr ? kQuiet : 1;
}

uint64_t QuietBlocks::RankKnown(const void* self, const PageUse& use) {
  const Entry* entry = static_cast<const QuietBlocks*>(self)->FindCovering(use);
  return entry != nullptr && entry->block_id == use.block_id ? kQuiet : 1;
}

}  // namespace vramstow
