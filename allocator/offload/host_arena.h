// HostArena: page-locked host memory for the contents of paused pages (pages without device memory
// that nothing may touch until they are resumed).
//
// Idea: locking pages is slow, so memory is allocated in large blocks, cut into pieces of one chunk
// each, and retained for the next pause until it is released on request. The pieces are chunks of
// the store (ChunkMemory::kPinned); the arena only records the blocks. A block is freed as a whole,
// once none of its pieces is in use. The driver may wait for work when it frees locked memory, so
// this is done without the lock: Detach takes the pieces out of the store, so that nothing uses
// them, and after the driver's answer EndFree removes the block's record or returns its pieces to
// the store.
//
// Ownership: the class owns the blocks until they are freed or until Close; the pool is closed
// after Close and does not touch them. Threads: the device's lock, except for Free. Errors: returns
// false; nothing was allocated. Units: bytes.
#ifndef VRAMSTOW_ALLOCATOR_OFFLOAD_HOST_ARENA_H_
#define VRAMSTOW_ALLOCATOR_OFFLOAD_HOST_ARENA_H_

#include <cstdint>

#include "allocator/core/device_lock.h"

#include "allocator/core/driver.h"
#include "allocator/core/events.h"
#include "allocator/physical/chunk_exchange.h"

namespace vramstow {

class HostArena {
 public:
  void Open(const DriverTable* driver, const PoolEvents* events, ChunkExchange* chunks);
  // Frees all blocks. `alive` is true if the driver can still be called.
  void Close(bool alive) VRAMSTOW_REQUIRES(kDeviceLock);
  // Allocates one more block of up to `pieces` chunks and adds them to the store.
  bool Grow(uint64_t pieces) VRAMSTOW_REQUIRES(kDeviceLock);

  // --- Freeing ----------------------------------------------------------------------------------
  // A block that is being freed. It is not in the arena until EndFree.
  struct Leaving {
    uint64_t address;
    uint64_t size;
    uint64_t sequence;  // of the recorded kFree event
  };
  // Detaches every block whose pieces are all idle. The caller then calls NextDetached until it
  // returns false. For each block that NextDetached returns, the caller calls Free (with or without
  // the lock), and then EndFree.
  void Detach() VRAMSTOW_REQUIRES(kDeviceLock);
  bool NextDetached(Leaving* block) VRAMSTOW_REQUIRES(kDeviceLock);
  DriverResult Free(const Leaving& block) const {
    return driver_->host_free(driver_->self, block.address);
  }
  // `result` is the result of Free. Returns how many bytes were returned to the host.
  uint64_t EndFree(const Leaving& block, DriverResult result) VRAMSTOW_REQUIRES(kDeviceLock);
  // Frees all idle blocks with the lock held. Returns how many bytes were returned to the host.
  uint64_t Release() VRAMSTOW_REQUIRES(kDeviceLock);

 private:
  static constexpr uint64_t kMaxPieces = 128;
  // The most blocks. A 288 GiB device has fewer chunks, and a block has at least one piece.
  static constexpr uint32_t kMaxBlocks = uint32_t{1} << 18;
  struct Block {
    uint64_t address;
    uint64_t size;
    uint32_t pieces;  // pieces that have a record in the store
    uint32_t idle;    // idle pieces, used while counting
    bool detached;
  };

  Block* Find(uint64_t address) VRAMSTOW_REQUIRES(kDeviceLock);
  uint32_t Add(uint64_t address, uint64_t size) VRAMSTOW_REQUIRES(kDeviceLock);

  const DriverTable* driver_ = nullptr;
  const PoolEvents* events_ = nullptr;
  ChunkExchange* chunks_ = nullptr;
  Block* blocks_ = nullptr;  // in order of address
  uint32_t count_ = 0;
  uint32_t leaving_ = 0;  // detached blocks that may return
};

}  // namespace vramstow

#endif  // VRAMSTOW_ALLOCATOR_OFFLOAD_HOST_ARENA_H_
