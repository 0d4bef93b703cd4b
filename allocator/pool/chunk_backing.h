// ChunkBacking: serves blocks by mapping chunks under a range of addresses.
//
// Idea: a plan says which pages lack a chunk. The chunks come from several sources, which are tried
// from the cheapest to the most expensive (kSources).
//
// Ownership: none. Threads: as Backing. Errors: as Backing. Units: as Backing.
#ifndef VRAMSTOW_ALLOCATOR_POOL_CHUNK_BACKING_H_
#define VRAMSTOW_ALLOCATOR_POOL_CHUNK_BACKING_H_

#include <cstdint>

#include "allocator/pool/backing.h"
#include "allocator/pool/parts.h"
#include "allocator/pool/trimmer.h"

namespace vramstow {

class ChunkBacking final : public Backing {
 public:
  void Open(PoolParts* parts, Trimmer* trimmer) {
    parts_ = parts;
    trimmer_ = trimmer;
  }

  bool Serve(AllocationAttempt* attempt) override
      VRAMSTOW_REQUIRES(kDeviceLock, attempt->heap->mutex);
  StripResult StripFree(StreamHeap* heap, uint64_t pages, uint32_t before_epoch,
                        bool no_more) override VRAMSTOW_REQUIRES(kDeviceLock, heap->mutex);
  void DropAll(StreamHeap* heap, PoolEnd end) override VRAMSTOW_REQUIRES(kDeviceLock);

 private:
  // The state of gathering chunks for a plan.
  struct Gathering {
    AllocationAttempt* attempt;
    const Plan& plan;
    uint64_t stitched = 0;   // chunks
    uint64_t stitch_ns = 0;  // how long stitching took
  };
  using Source = void (ChunkBacking::*)(Gathering* gathering);

  static const Source kSources[];

  DriverResult Renew(AllocationAttempt* attempt, bool recall, Plan* plan)
      VRAMSTOW_REQUIRES(kDeviceLock, attempt->heap->mutex);
  void Gather(AllocationAttempt* attempt, const Plan& plan)
      VRAMSTOW_REQUIRES(kDeviceLock, attempt->heap->mutex);
  uint64_t Lacking(const Gathering& gathering) const VRAMSTOW_REQUIRES(kDeviceLock);
  bool WithinSlack(const AllocationAttempt& attempt, uint64_t chunks, uint64_t permille) const
      VRAMSTOW_REQUIRES(kDeviceLock);
  uint64_t NeighboursIn(const Plan& plan) VRAMSTOW_REQUIRES(kDeviceLock);
  bool WaitForOwnStream(AllocationAttempt* attempt) VRAMSTOW_REQUIRES(kDeviceLock);

  // The functions of kSources, called by Gather with both locks held. The lock analysis is off
  // because it does not follow pointers to members.
  void GatherHarmless(Gathering* gathering) VRAMSTOW_NO_LOCK_ANALYSIS;
  void GrowWithinSlack(Gathering* gathering) VRAMSTOW_NO_LOCK_ANALYSIS;
  void GatherOwn(Gathering* gathering) VRAMSTOW_NO_LOCK_ANALYSIS;
  void GatherOldOfOthers(Gathering* gathering) VRAMSTOW_NO_LOCK_ANALYSIS;
  void Grow(Gathering* gathering) VRAMSTOW_NO_LOCK_ANALYSIS;
  void GatherAllOfOthers(Gathering* gathering) VRAMSTOW_NO_LOCK_ANALYSIS;

  PoolParts* parts_ = nullptr;
  Trimmer* trimmer_ = nullptr;
};

}  // namespace vramstow

#endif  // VRAMSTOW_ALLOCATOR_POOL_CHUNK_BACKING_H_
