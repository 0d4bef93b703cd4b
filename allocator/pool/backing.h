// Backing: allocates the memory of a pool, and serves a block whose memory is not cached.
//
// Idea: a pool has one of two backings: chunks that are mapped where they are needed (ChunkBacking)
// or, without virtual memory, allocations of the plain driver (SegmentBacking). All other parts of
// a pool are the same.
//
// Ownership: none. Threads: the device's lock, and the lock of the heap in question. Errors:
// AllocationAttempt::result. Units: bytes; pages as large as a chunk.
#ifndef VRAMSTOW_ALLOCATOR_POOL_BACKING_H_
#define VRAMSTOW_ALLOCATOR_POOL_BACKING_H_

#include <cstdint>

#include "allocator/pool/attempt.h"

namespace vramstow {

class Backing {
 public:
  // Serves the request with memory that its heap has not cached (steps 2 to 4 of the pressure
  // ladder in docs/pool.md). Returns true if it succeeds; attempt->index is then the number of the
  // block.
  virtual bool Serve(AllocationAttempt* attempt)
      VRAMSTOW_REQUIRES(kDeviceLock, attempt->heap->mutex) = 0;
  // Moves up to `pages` free pages of a heap to the store, or releases them to the device. The
  // pages were freed in the epoch `before_epoch` or earlier. If `no_more` is true, a segment or
  // chunk that is larger than the rest of `pages` is not released.
  virtual StripResult StripFree(StreamHeap* heap, uint64_t pages, uint32_t before_epoch,
                                bool no_more) VRAMSTOW_REQUIRES(kDeviceLock, heap->mutex) = 0;
  // Releases all memory of the heap when the pool closes, also that of live blocks.
  virtual void DropAll(StreamHeap* heap, PoolEnd end) VRAMSTOW_REQUIRES(kDeviceLock) = 0;

 protected:
  ~Backing() = default;
};

}  // namespace vramstow

#endif  // VRAMSTOW_ALLOCATOR_POOL_BACKING_H_
