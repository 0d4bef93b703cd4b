// SegmentBacking: serves blocks from memory of the plain driver if there is no virtual memory.
//
// Idea: physical memory cannot be moved here, so a block cannot be assembled from chunks of
// different places. A request that no cached memory serves gets a new segment. If there is no
// memory for a new segment, old segments that are entirely free are released first. A segment is a
// region of one heap.
//
// Ownership: none. Threads: as Backing. Errors: as Backing. Units: as Backing.
#ifndef VRAMSTOW_ALLOCATOR_POOL_SEGMENT_BACKING_H_
#define VRAMSTOW_ALLOCATOR_POOL_SEGMENT_BACKING_H_

#include <cstdint>

#include "allocator/physical/segment_store.h"
#include "allocator/pool/backing.h"
#include "allocator/pool/parts.h"
#include "allocator/pool/trimmer.h"

namespace vramstow {

class SegmentBacking final : public Backing {
 public:
  void Open(PoolParts* parts, Trimmer* trimmer) {
    parts_ = parts;
    trimmer_ = trimmer;
  }

  // Switches the pool to segments if the driver has refused virtual memory, with this result,
  // before the pool used any. Returns true if it has switched; the pool's chunks are not used after
  // that.
  bool SwitchToSegments(DriverResult result) VRAMSTOW_REQUIRES(kDeviceLock);

  bool Serve(AllocationAttempt* attempt) override
      VRAMSTOW_REQUIRES(kDeviceLock, attempt->heap->mutex);
  // Releases free segments to the device.
  StripResult StripFree(StreamHeap* heap, uint64_t pages, uint32_t before_epoch,
                        bool no_more) override VRAMSTOW_REQUIRES(kDeviceLock, heap->mutex);
  void DropAll(StreamHeap* heap, PoolEnd end) override VRAMSTOW_REQUIRES(kDeviceLock);

 private:
  DriverResult AddSegment(AllocationAttempt* attempt, uint64_t bytes)
      VRAMSTOW_REQUIRES(kDeviceLock, attempt->heap->mutex);
  DriverResult AddFirstFitting(AllocationAttempt* attempt, uint64_t shared, uint64_t least)
      VRAMSTOW_REQUIRES(kDeviceLock, attempt->heap->mutex);
  bool MakeRoom(AllocationAttempt* attempt, uint64_t pages)
      VRAMSTOW_REQUIRES(kDeviceLock, attempt->heap->mutex);

  PoolParts* parts_ = nullptr;
  Trimmer* trimmer_ = nullptr;
};

}  // namespace vramstow

#endif  // VRAMSTOW_ALLOCATOR_POOL_SEGMENT_BACKING_H_
