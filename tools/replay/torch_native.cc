#include <algorithm>
#include <iterator>

#include "base/rounding.h"
#include "tools/replay/torch_allocator.h"

namespace vramstow {
namespace {

constexpr uint64_t kSmallestBlock = 512;
constexpr uint64_t kSmallSize = kMiB;            // the largest request of the small pool
constexpr uint64_t kSmallSegment = 2 * kMiB;     // segments of the small pool
constexpr uint64_t kOwnSegmentSize = 10 * kMiB;  // larger or equal requests get a segment each
constexpr uint64_t kSegmentUnit = 2 * kMiB;      // the sizes of these are multiples of this

}  // namespace

TorchAllocator::TorchAllocator(ModelDevice* device, const TorchSettings& settings,
                               uint64_t total_bytes)
    : device_(device),
      settings_(settings),
      rounding_(settings.divisions),
      total_bytes_(total_bytes),
      limit_bytes_(settings.memory_fraction > 1
                       ? 0
                       : static_cast<uint64_t>(settings.memory_fraction *
                                               static_cast<double>(total_bytes))) {}

TorchAllocator::Pool* TorchAllocator::PoolFor(uint32_t number, uint64_t size) {
  Pools& pools = pools_[number];
  pools.small.is_small = true;
  return size <= kSmallSize ? &pools.small : &pools.large;
}

uint64_t TorchAllocator::SegmentSize(uint64_t size) const {
  if (size <= kSmallSize) return kSmallSegment;
  if (size < kOwnSegmentSize) return settings_.large_segment_bytes;
  return RoundUp(size, kSegmentUnit);
}

bool TorchAllocator::Allocate(const ModelRequest& request) {
  const uint64_t size = rounding_.Round(request.bytes);
  Pool* pool = PoolFor(request.pool, size);
  const uint64_t segment_size = SegmentSize(size);
  const bool collects = limit_bytes_ != 0 && settings_.garbage_collection_threshold > 0;
  if (collects) ++pool->searches;
  Block* block = FindFree(pool, size, request.stream);
  if (block == nullptr) {
    if (collects) CollectGarbage(&pools_[0].large);
    block = NewSegment(pool, size, segment_size, request.stream);
    if (block == nullptr && ReleaseOneLarge(pool, size, request.stream)) {
      block = NewSegment(pool, size, segment_size, request.stream);
    }
    if (block == nullptr) {
      ReleaseCached();
      block = NewSegment(pool, size, segment_size, request.stream);
    }
  }
  if (block == nullptr) return false;
  const uint64_t rest = block->size - size;
  const bool split = pool->is_small || settings_.expandable_segments
                         ? rest >= kSmallestBlock
                         : size < settings_.max_split_bytes && rest > kSmallSize;
  if (split) block = Split(block, size);
  block->live = true;
  allocated_ += block->size;
  if (live_.size() <= request.block) live_.resize(request.block + 1);
  live_[request.block] = block;
  return true;
}

TorchAllocator::Block* TorchAllocator::FindFree(Pool* pool, uint64_t size, uint32_t stream) {
  Position place = pool->free.lower_bound({stream, size, 0, 0, nullptr});
  if (place == pool->free.end() || place->stream != stream) return nullptr;
  if (place->block->segment != nullptr) {
    if (settings_.expandable_segments) place = BestExpandable(pool, place, stream);
  }
  // A block that is too large to be split is used only for a request of about its size.
  if (size < settings_.max_split_bytes && place->size >= settings_.max_split_bytes) return nullptr;
  if (size >= settings_.max_split_bytes &&
      place->size >= size + settings_.max_non_split_rounding_bytes) {
    return nullptr;
  }
  Block* block = place->block;
  pool->free.erase(place);
  return block;
}

TorchAllocator::Block* TorchAllocator::NewSegment(Pool* pool, uint64_t size, uint64_t segment_size,
                                                  uint32_t stream) {
  if (limit_bytes_ != 0 && device_->reserved() + segment_size > limit_bytes_) return nullptr;
  if (settings_.expandable_segments) return NewExpandable(pool, size, stream);
  const uint64_t address = device_->Allocate(segment_size, stream);
  if (address == 0) return nullptr;
  Block* block = MakeBlock();
  block->address = address;
  block->size = segment_size;
  block->pool = pool;
  block->stream = stream;
  block->birth = ++segments_taken_;
  return block;
}

// Releases large blocks that were unused for longer than the average, until the reserved memory is
// at the threshold or no such block is left.
void TorchAllocator::CollectGarbage(Pool* pool) {
  const auto threshold = static_cast<uint64_t>(settings_.garbage_collection_threshold *
                                               static_cast<double>(limit_bytes_));
  if (device_->reserved() <= threshold) return;
  const uint64_t target = device_->reserved() - threshold;
  uint64_t total_age = 0;
  uint64_t count = 0;
  for (const BySize& entry : pool->free) {
    if (entry.block->is_split()) continue;
    total_age += pool->searches - entry.block->age_base;
    ++count;
  }
  uint64_t reclaimed = 0;
  bool freed = true;
  while (reclaimed < target && freed && count > 0) {
    const double average = static_cast<double>(total_age) / static_cast<double>(count);
    freed = false;
    for (Position place = pool->free.begin(); place != pool->free.end();) {
      Block* block = place->block;
      ++place;
      const uint64_t age = pool->searches - block->age_base;
      if (block->is_split() || block->segment != nullptr || static_cast<double>(age) < average) {
        continue;
      }
      freed = true;
      reclaimed += block->size;
      total_age -= age;
      --count;
      Release(block);
    }
  }
}

bool TorchAllocator::ReleaseOneLarge(Pool* pool, uint64_t size, uint32_t stream) {
  const uint64_t split = settings_.max_split_bytes;
  if (split == std::numeric_limits<uint64_t>::max()) return false;
  const uint64_t wanted = std::max(size, split);
  Position place = pool->free.lower_bound({stream, wanted, 0, 0, nullptr});
  if (place != pool->free.end() && place->stream == stream) {
    if (place->block->segment != nullptr) return false;
    Release(place->block);
    return true;
  }
  // If no single block is large enough, releases several blocks, the largest first.
  uint64_t released = 0;
  while (released < wanted && place != pool->free.begin()) {
    const Position candidate = std::prev(place);
    if (candidate->stream != stream || candidate->size < split) break;
    if (candidate->block->segment != nullptr) {
      place = candidate;
      continue;
    }
    released += candidate->size;
    Release(candidate->block);  // `place` stays: it is the one after
  }
  return released >= wanted;
}

void TorchAllocator::ReleaseCached() {
  const auto common = pools_.find(0);
  if (common != pools_.end()) {
    ReleaseAll(&common->second.large);
    ReleaseAll(&common->second.small);
  }
  for (auto& [number, pools] : pools_) {
    if (number == 0 || !pools.ended) continue;
    ReleaseAll(&pools.small);
    ReleaseAll(&pools.large);
  }
}

void TorchAllocator::ReleaseAll(Pool* pool) {
  std::vector<Block*> to_unmap;
  for (Position place = pool->free.begin(); place != pool->free.end();) {
    Block* block = place->block;
    ++place;
    if (block->segment != nullptr) {
      to_unmap.push_back(block);
    } else if (!block->is_split()) {
      Release(block);
    }
  }
  for (Block* block : to_unmap) {
    UnmapBlock(block);
    if (!block->is_split() && !block->mapped) ReleaseSegment(block);
  }
}

void TorchAllocator::Release(Block* block) {
  device_->Free(block->address, block->size, block->stream);
  block->pool->free.erase(KeyOf(block));
  DropBlock(block);
}

// Cuts `size` bytes off the front of `rest` and returns them as a block. `rest` becomes a free
// block.
TorchAllocator::Block* TorchAllocator::Split(Block* rest, uint64_t size) {
  Block* block = MakeBlock();
  block->address = rest->address;
  block->size = size;
  block->pool = rest->pool;
  block->stream = rest->stream;
  block->segment = rest->segment;
  block->birth = rest->birth;
  Splice(block, rest->prev, rest);
  rest->address += size;
  rest->size -= size;
  Insert(rest);
  return block;
}

void TorchAllocator::Free(uint32_t number) {
  Block* block = live_[number];
  live_[number] = nullptr;
  block->live = false;
  allocated_ -= block->size;
  TryMerge(block, block->prev);
  TryMerge(block, block->next);
  Insert(block);
}

void TorchAllocator::PoolEnds(uint32_t pool) {
  if (pool != 0) pools_[pool].ended = true;
}

void TorchAllocator::Insert(Block* block) {
  block->age_base = block->pool->searches;
  block->pool->free.insert(KeyOf(block));
}

void TorchAllocator::Splice(Block* block, Block* before, Block* after) {
  block->prev = before;
  block->next = after;
  if (before != nullptr) before->next = block;
  if (after != nullptr) after->prev = block;
}

// Joins the block `from` to its neighbour `into` if `from` is free, and if either both or none of
// them have memory.
void TorchAllocator::TryMerge(Block* into, Block* from) {
  if (from == nullptr || from->live || from->mapped != into->mapped) return;
  if (from->mapped) {
    from->pool->free.erase(KeyOf(from));
  } else {
    from->pool->unmapped.erase({from->stream, from->address});
  }
  if (into->prev == from) {
    into->address = from->address;
    into->prev = from->prev;
    if (into->prev != nullptr) into->prev->next = into;
  } else {
    into->next = from->next;
    if (into->next != nullptr) into->next->prev = into;
  }
  into->size += from->size;
  DropBlock(from);
}

TorchAllocator::Block* TorchAllocator::MakeBlock() {
  if (spare_.empty()) return &blocks_.emplace_back();
  Block* block = spare_.back();
  spare_.pop_back();
  *block = Block();
  return block;
}

void TorchAllocator::DropBlock(Block* block) { spare_.push_back(block); }

}  // namespace vramstow
