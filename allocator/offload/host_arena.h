// HostArena: page-locked memory of the host for what paused pages held.
//
// Idea: locking pages is slow, so memory is taken in large blocks, cut into pieces of a chunk each,
// and kept until the end. The pieces are chunks of the store (ChunkMemory::kPinned); the arena only
// remembers the blocks.
//
// Ownership: the blocks, until Close; the pool is closed after that without touching them.
// Threads: the device's lock. Errors: false; nothing was taken. Units: bytes.
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

 private:
  static constexpr uint64_t kMostPieces = 128;
  static constexpr uint32_t kMostBlocks = 4096;
  struct Block {
    uint64_t address;
    uint64_t size;
  };

  const DriverTable* driver_ = nullptr;
  const PoolEvents* events_ = nullptr;
  ChunkExchange* chunks_ = nullptr;
  Block* blocks_ = nullptr;
  uint32_t count_ = 0;
};

}  // namespace vramstow

#endif  // VRAMSTOW_ALLOCATOR_OFFLOAD_HOST_ARENA_H_
