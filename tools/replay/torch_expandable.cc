// Models expandable segments. Each stream and pool has one range of addresses. Memory is added at
// the end of the range, or in its gaps, in pages of 2 MiB (small pool) or 20 MiB (large pool).
#include <algorithm>

#include "base/rounding.h"
#include "tools/replay/torch_allocator.h"

namespace vramstow {
namespace {

constexpr uint64_t kSmallPage = 2 * kMiB;

}  // namespace

// Chooses among the free blocks from `first` on; a smaller block is better. A free block that is
// followed by unmapped memory counts with the size that it would have if this memory were mapped.
TorchAllocator::Position TorchAllocator::BestExpandable(Pool* pool, Position first,
                                                        uint32_t stream) const {
  const auto possible_size = [](const Block* block) {
    const bool grows = block->next != nullptr && !block->next->mapped;
    return block->size + (grows ? block->next->size : 0);
  };
  Position best = first;
  Position next = std::next(best);
  while (best->block->segment != nullptr && next != pool->free.end() && next->stream == stream &&
         possible_size(next->block) < possible_size(best->block)) {
    best = next++;
  }
  return best;
}

// Finds the lowest address at which adding memory gives `size` consecutive free bytes. If there is
// none, makes a new segment.
TorchAllocator::Block* TorchAllocator::FindRoom(Pool* pool, uint64_t size, uint32_t stream) {
  const auto has_room = [size](const Block* block) {
    uint64_t bytes = 0;
    while (bytes < size && block != nullptr && !block->live) {
      bytes += block->size;
      block = block->next;
    }
    return bytes >= size;
  };
  for (auto place = pool->unmapped.lower_bound({stream, 0});
       place != pool->unmapped.end() && place->first.first == stream; ++place) {
    Block* candidate = place->second;
    if (candidate->prev != nullptr && !candidate->prev->live) candidate = candidate->prev;
    if (has_room(candidate)) return candidate;
  }
  const uint64_t page = pool->is_small ? kSmallPage : settings_.large_segment_bytes;
  const uint64_t wanted = total_bytes_ + total_bytes_ / 8;
  const uint64_t reserve = RoundUp(wanted, page);
  const uint64_t address = device_->Reserve(reserve);
  segments_.push_back({address, reserve, page});
  Block* block = MakeBlock();
  block->address = address;
  block->size = reserve;
  block->pool = pool;
  block->stream = stream;
  block->mapped = false;
  block->segment = &segments_.back();
  pool->unmapped[{stream, address}] = block;
  return has_room(block) ? block : nullptr;
}

TorchAllocator::Block* TorchAllocator::NewExpandable(Pool* pool, uint64_t size, uint32_t stream) {
  Block* block = FindRoom(pool, size, stream);
  if (block == nullptr) return nullptr;
  if (!block->mapped && !MapBlock(block, std::min(block->size, size))) return nullptr;
  while (block->size < size) {
    Block* next = block->next;
    if (!MapBlock(next, std::min(size - block->size, next->size))) return nullptr;
    block = next;  // the previous block was joined with it
  }
  pool->free.erase(KeyOf(block));
  return block;
}

bool TorchAllocator::MapBlock(Block* block, uint64_t size) {
  const uint64_t page = block->segment->page;
  const uint64_t mapped = RoundUp(size, page);
  if (!device_->Map(block->address, mapped, mapped / page, block->stream)) return false;
  Pool* pool = block->pool;
  pool->unmapped.erase({block->stream, block->address});
  block->mapped = true;
  if (mapped < block->size) {
    Block* rest = MakeBlock();
    rest->address = block->address + mapped;
    rest->size = block->size - mapped;
    rest->pool = pool;
    rest->stream = block->stream;
    rest->segment = block->segment;
    rest->mapped = false;
    Splice(rest, block, block->next);
    pool->unmapped[{rest->stream, rest->address}] = rest;
    block->size = mapped;
  }
  TryMerge(block, block->prev);
  TryMerge(block, block->next);
  Insert(block);
  return true;
}

// Unmaps the whole pages that lie in a free block.
void TorchAllocator::UnmapBlock(Block* block) {
  const Segment& segment = *block->segment;
  const uint64_t offset = block->address - segment.address;
  const uint64_t begin = RoundUp(offset, segment.page);
  const uint64_t end = (offset + block->size) / segment.page * segment.page;
  if (begin >= end) return;
  device_->Unmap(segment.address + begin, end - begin, (end - begin) / segment.page, block->stream);
  Pool* pool = block->pool;
  pool->free.erase(KeyOf(block));
  const auto cut = [&](uint64_t from, uint64_t to) {
    Block* part = MakeBlock();
    part->address = segment.address + from;
    part->size = to - from;
    part->pool = pool;
    part->stream = block->stream;
    part->segment = block->segment;
    return part;
  };
  if (begin > offset) {
    Block* before = cut(offset, begin);
    Splice(before, block->prev, block);
    Insert(before);
  }
  if (offset + block->size > end) {
    Block* after = cut(end, offset + block->size);
    Splice(after, block, block->next);
    Insert(after);
  }
  block->address = segment.address + begin;
  block->size = end - begin;
  block->mapped = false;
  TryMerge(block, block->prev);
  TryMerge(block, block->next);
  pool->unmapped[{block->stream, block->address}] = block;
}

void TorchAllocator::ReleaseSegment(Block* block) {
  device_->Unreserve(block->segment->address, block->segment->size);
  block->pool->unmapped.erase({block->stream, block->address});
  DropBlock(block);
}

}  // namespace vramstow
