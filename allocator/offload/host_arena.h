// HostArena: page-locked memory of the host for what paused pages held.
//
// Idea: locking pages is slow, so memory is taken in large blocks, cut into pieces of a chunk each,
// and kept for the next pause until somebody wants it back. The pieces are chunks of the store
// (ChunkMemory::kPinned); the arena only remembers the blocks. A block goes back whole, once none
// of its pieces holds anything. The driver may wait for work when it frees locked memory, so that
// is done without the lock: Detach takes the pieces out of the store, so that nobody uses them, and
// after the driver's answer EndFree forgets the block or puts its pieces back.
//
// Ownership: the blocks, until they are freed or Close; the pool is closed after that without
// touching them. Threads: the device's lock, but for Free. Errors: false; nothing was taken. Units:
// bytes.
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
  // `alive`: the driver can still be called.
  void Close(bool alive) VRAMSTOW_REQUIRES(kDeviceLock);
  // One block more, of up to `pieces` chunks, which go to the store.
  bool Grow(uint64_t pieces) VRAMSTOW_REQUIRES(kDeviceLock);

  // --- Giving back
  // -------------------------------------------------------------------------------- A block on its
  // way out: the arena does not know it until EndFree.
  struct Leaving {
    uint64_t address;
    uint64_t size;
    uint64_t told;  // the event
  };
  // Detaches every block whose pieces are all idle. Until NextDetached finds none, each is the
  // caller's: to Free, without the lock or with it, and then to EndFree.
  void Detach() VRAMSTOW_REQUIRES(kDeviceLock);
  bool NextDetached(Leaving* block) VRAMSTOW_REQUIRES(kDeviceLock);
  DriverResult Free(const Leaving& block) const {
    return driver_->host_free(driver_->self, block.address);
  }
  // `result`: what Free said. Returns how many bytes the host has back.
  uint64_t EndFree(const Leaving& block, DriverResult result) VRAMSTOW_REQUIRES(kDeviceLock);
  // All of it with the lock held. Returns how many bytes the host has back.
  uint64_t Release() VRAMSTOW_REQUIRES(kDeviceLock);

 private:
  static constexpr uint64_t kMaxPieces = 128;
  // As many as a device of 288 GiB has chunks, and more: each may be a block of one piece.
  static constexpr uint32_t kMaxBlocks = uint32_t{1} << 18;
  struct Block {
    uint64_t address;
    uint64_t size;
    uint32_t pieces;  // those that the store knows
    uint32_t idle;    // of these, while they are counted
    bool detached;
  };

  Block* Find(uint64_t address) VRAMSTOW_REQUIRES(kDeviceLock);
  uint32_t Add(uint64_t address, uint64_t size) VRAMSTOW_REQUIRES(kDeviceLock);

  const DriverTable* driver_ = nullptr;
  const PoolEvents* events_ = nullptr;
  ChunkExchange* chunks_ = nullptr;
  Block* blocks_ = nullptr;  // in order of address
  uint32_t count_ = 0;
  uint32_t leaving_ = 0;  // blocks that may come back
};

}  // namespace vramstow

#endif  // VRAMSTOW_ALLOCATOR_OFFLOAD_HOST_ARENA_H_
