// ChunkMoves: moves chunks of one heap away from a page while they stay mapped there, so that
// moving back takes no driver call.
//
// Idea: there are three reasons to move a chunk. Recall: a plan's pages get back the chunks that
// they had before. RestoreMappings: chunks that were moved to other pages, and are free there,
// return to the pages they came from, so that a repeating job finds its memory as it was.
// StripByInterference: in a repeating job, the pool takes chunks from pages that the job does not
// need at the same time (InterferenceMap).
//
// Ownership: none; the object lives for one step. Threads: the heap's lock and the device's lock.
// Errors: none; a chunk that cannot be moved stays. Units: pages.
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

  // Moves to the store the chunks that were at the plan's pages before and are now at other pages.
  // These other pages must be free, and their `mark` must have this value. Returns the number of
  // chunks that were moved.
  uint64_t Recall(const Plan& plan, uint32_t mark) VRAMSTOW_REQUIRES(kDeviceLock);
  // Returns chunks to the pages they came from. Returns true if any chunk was moved.
  bool RestoreMappings() VRAMSTOW_REQUIRES(kDeviceLock);
  // Moves the chunks of up to `count` whole free pages to the store. It prefers chunks that the
  // next iteration needs least while the plan needs them; with `safe` it moves only chunks that are
  // never needed at the same time. Returns how many.
  uint64_t StripByInterference(uint64_t count, const Plan& plan, bool safe,
                               LargePlacement* placement, InterferenceMap* interference)
      VRAMSTOW_REQUIRES(kDeviceLock);

 private:
  // How many runs of pages are processed at once.
  static constexpr int kBatch = 64;
  // The mark of a page whose chunk is wanted elsewhere.
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
