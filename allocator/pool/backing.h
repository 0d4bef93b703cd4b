// Backing: what a pool's memory is made of, and how a block gets some that is not cached.
//
// Idea: a pool has one of two: chunks that are mapped where they are needed (ChunkBacking), or,
// where there is no virtual memory, allocations of the plain driver (SegmentBacking). All else of a
// pool is the same.
//
// Ownership: none. Threads: the device's lock, and the heap's that is named. Errors:
// AllocationAttempt::result. Units: bytes; pages as large as a chunk.
#ifndef VRAMSTOW_ALLOCATOR_POOL_BACKING_H_
#define VRAMSTOW_ALLOCATOR_POOL_BACKING_H_

#include <cstdint>

#include "allocator/pool/attempt.h"

namespace vramstow {

class Backing {
 public:
  // Serves the block with memory that its heap has not cached (steps 2 to 4 of the ladder). True:
  // attempt->index is the block.
  virtual bool Serve(AllocationAttempt* attempt)
      VRAMSTOW_REQUIRES(kDeviceLock, attempt->heap->mutex) = 0;
  // Up to so many free pages of a heap, freed in the epoch `before_epoch` or earlier, go to the
  // store, or to the device. With `no_more`, nothing that is larger than what is left of `pages`.
  virtual StripResult StripFree(StreamHeap* heap, uint64_t pages, uint32_t before_epoch,
                                bool no_more) VRAMSTOW_REQUIRES(kDeviceLock, heap->mutex) = 0;
  // At the end: all memory of the heap, live blocks or not.
  virtual void DropAll(StreamHeap* heap, PoolEnd end) VRAMSTOW_REQUIRES(kDeviceLock) = 0;

 protected:
  ~Backing() = default;
};

}  // namespace vramstow

#endif  // VRAMSTOW_ALLOCATOR_POOL_BACKING_H_
