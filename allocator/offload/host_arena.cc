#include "allocator/offload/host_arena.h"

#include <algorithm>

#include "allocator/core/host_memory.h"

namespace vramstow {

void HostArena::Open(const DriverTable* driver, const PoolEvents* events, ChunkExchange* chunks) {
  driver_ = driver;
  events_ = events;
  chunks_ = chunks;
}

void HostArena::Close(bool alive) {
  for (uint32_t i = 0; alive && i < count_; ++i) {
    events_->Pinned(EventKind::kFree, blocks_[i].address, blocks_[i].size, kDriverSuccess);
    driver_->host_free(driver_->self, blocks_[i].address);
  }
  if (blocks_ != nullptr) FreeHostMemory(blocks_, kMostBlocks * sizeof(Block));
  blocks_ = nullptr;
  count_ = 0;
}

bool HostArena::Grow(uint64_t pieces) {
  if (blocks_ == nullptr) {
    blocks_ = static_cast<Block*>(AllocateHostMemory(kMostBlocks * sizeof(Block)));
    if (blocks_ == nullptr) return false;
  }
  if (count_ == kMostBlocks || pieces == 0) return false;
  const uint64_t piece = chunks_->chunk_bytes();
  const uint64_t size = std::min(pieces, kMostPieces) * piece;
  uint64_t address = 0;
  const DriverResult result = driver_->host_allocate(driver_->self, size, &address);
  events_->Pinned(EventKind::kAllocate, address, size, result);
  if (result != kDriverSuccess) return false;
  blocks_[count_++] = {address, size};
  bool any = false;
  for (uint64_t at = 0; at < size; at += piece) any |= chunks_->AddPinned(address + at);
  return any;
}

}  // namespace vramstow
