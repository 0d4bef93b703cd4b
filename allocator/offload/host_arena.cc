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
  if (blocks_ != nullptr) FreeHostMemory(blocks_, kMaxBlocks * sizeof(Block));
  blocks_ = nullptr;
  count_ = 0;
  leaving_ = 0;
}

// Returns the block that contains this address; such a block always exists.
HostArena::Block* HostArena::Find(uint64_t address) {
  Block* const after =
      std::upper_bound(blocks_, blocks_ + count_, address,
                       [](uint64_t at, const Block& block) { return at < block.address; });
  return after - 1;
}

// Adds the pieces of a new block to the store. If there is no memory for the record of a piece, the
// piece stays unused until the block is freed. Returns how many pieces have a record.
uint32_t HostArena::Add(uint64_t address, uint64_t size) {
  Block* place = blocks_ + count_;
  for (; place != blocks_ && place[-1].address > address; --place) place[0] = place[-1];
  ++count_;
  *place = {address, size, 0, 0, false};
  for (uint64_t at = 0; at < size; at += chunks_->chunk_bytes()) {
    place->pieces += chunks_->AddPinned(address + at) ? 1 : 0;
  }
  return place->pieces;
}

bool HostArena::Grow(uint64_t pieces) {
  if (blocks_ == nullptr) {
    blocks_ = static_cast<Block*>(AllocateHostMemory(kMaxBlocks * sizeof(Block)));
    if (blocks_ == nullptr) return false;
  }
  if (count_ + leaving_ == kMaxBlocks || pieces == 0) return false;
  const uint64_t size = std::min(pieces, kMaxPieces) * chunks_->chunk_bytes();
  uint64_t address = 0;
  const DriverResult result = driver_->host_allocate(driver_->self, size, &address);
  events_->Pinned(EventKind::kAllocate, address, size, result);
  return result == kDriverSuccess && Add(address, size) != 0;
}

// --- Freeing ------------------------------------------------------------------------------------

void HostArena::Detach() {
  for (uint32_t i = 0; i < count_; ++i) blocks_[i].idle = 0;
  chunks_->VisitIdlePinned([this](uint64_t memory) {
    kDeviceLock.AssertHeld();
    ++Find(memory)->idle;
  });
  bool any = false;
  for (uint32_t i = 0; i < count_; ++i) {
    Block& block = blocks_[i];
    block.detached = block.idle == block.pieces;
    any = any || block.detached;
  }
  if (!any) return;
  chunks_->RemoveIdlePinned([this](uint64_t memory) {
    kDeviceLock.AssertHeld();
    return Find(memory)->detached;
  });
  for (uint32_t i = 0; i < count_; ++i) {
    if (blocks_[i].detached) blocks_[i].pieces = 0;
  }
}

bool HostArena::NextDetached(Leaving* block) {
  Block* const end = blocks_ + count_;
  Block* const found =
      std::find_if(blocks_, end, [](const Block& candidate) { return candidate.detached; });
  if (found == end) return false;
  // The event is recorded before the driver is called, because another thread may get the same
  // address from the driver at once.
  *block = {found->address, found->size,
            events_->Pinned(EventKind::kFree, found->address, found->size, kDriverSuccess)};
  std::copy(found + 1, end, found);
  --count_;
  ++leaving_;
  return true;
}

uint64_t HostArena::EndFree(const Leaving& block, DriverResult result) {
  --leaving_;
  if (result == kDriverSuccess) return block.size;
  events_->PinnedStays(block.sequence, result);
  Add(block.address, block.size);
  return 0;
}

uint64_t HostArena::Release() {
  uint64_t released = 0;
  Detach();
  for (Leaving block{}; NextDetached(&block);) released += EndFree(block, Free(block));
  return released;
}

}  // namespace vramstow
