// ChunkMoves: chunks of one heap that leave a page and stay mapped there, so that coming back takes
// no driver call.
//
// Idea: three reasons to move a chunk. Recall: a plan's pages get back the chunks that they had.
// RestoreMappings: chunks that filled a gap, and are free again, go back to where they came from,
// so that a repeating job finds its memory as it was. StripByInterference: in a job that repeats,
// chunks are taken whose pages the round does not need at the same time (InterferenceMap).
//
// Ownership: none; for the length of one step. Threads: the heap's lock and the device's. Errors:
// none; what cannot be moved stays. Units: pages.
#ifndef VRAMSTOW_ALLOCATOR_PLACEMENT_CHUNK_MOVES_H_
#define VRAMSTOW_ALLOCATOR_PLACEMENT_CHUNK_MOVES_H_

#include <cstdint>

#include "allocator/core/device_lock.h"
#include "allocator/placement/heap_pages.h"
#include "allocator/placement/interference_map.h"
#include "allocator/placement/large_placement.h"

namespace vramstow {

class ChunkMoves {
 public:
  explicit ChunkMoves(const HeapPages& heap) : heap_(heap) {}

  // Takes the chunks that were at the plan's pages before out of free pages with this mark: they go
  // to the store. Returns how many.
  uint64_t Recall(const Plan& plan, uint32_t mark) VRAMSTOW_REQUIRES(kDeviceLock);
  // True if any chunk went back.
  bool RestoreMappings() VRAMSTOW_REQUIRES(kDeviceLock);
  // Moves the chunks of up to `count` whole free pages to the store, first those that are least in
  // the way when the round is served in the same way again; with `safe`, only chunks that are not
  // in the way at all. Returns how many.
  uint64_t StripByInterference(uint64_t count, const Plan& plan, bool safe,
                               LargePlacement* placement, InterferenceMap* interference)
      VRAMSTOW_REQUIRES(kDeviceLock);

 private:
  // Runs of pages that are dealt with in one go.
  static constexpr int kBatch = 64;
  // Mark of a page whose chunk is wanted elsewhere.
  static constexpr uint32_t kWanted = ~uint32_t{0};

  Page& PageAt(uint64_t address) const { return heap_.space->PageAt(address); }
  template <typename Visit>
  void VisitMovable(const Plan& plan, Visit visit) const VRAMSTOW_REQUIRES(kDeviceLock);
  template <typename Wanted>
  uint32_t FindSpanWith(const Plan& plan, Wanted wanted) const VRAMSTOW_REQUIRES(kDeviceLock);
  bool DetachKeepMapped(uint32_t index, uint64_t from, uint64_t to) VRAMSTOW_REQUIRES(kDeviceLock);
  uint64_t DetachWantedFrom(uint32_t index) VRAMSTOW_REQUIRES(kDeviceLock);
  uint64_t DetachWanted(uint64_t wanted, const Plan& plan) VRAMSTOW_REQUIRES(kDeviceLock);
  int DetachForRestore(uint32_t index, Plan* runs) VRAMSTOW_REQUIRES(kDeviceLock);
  bool BuildInterference(const Plan& plan, LargePlacement* placement, InterferenceMap* interference,
                         SlotMask* wanted) const VRAMSTOW_REQUIRES(kDeviceLock);

  const HeapPages& heap_;
};

}  // namespace vramstow

#endif  // VRAMSTOW_ALLOCATOR_PLACEMENT_CHUNK_MOVES_H_
