// SpanTable: the spans of one heap. Blocks, free spans and holes tile its regions of addresses.
//
// Idea: there are two zones, one for small blocks and one for all others, each with a set of
// regions. The table cuts spans and joins them again; it knows nothing of physical memory, fences
// and streams. A free span is in its zone's index of free spans, a hole is in its zone's index of
// holes, a block is in neither.
//
// Ownership: the table owns its records. Threads: guarded by the heap's lock; mapped_bytes may be
// called from any thread. Errors: returns false if there is no memory for records. Units: bytes; a
// page is as large as a chunk.
#ifndef VRAMSTOW_ALLOCATOR_HEAP_SPAN_TABLE_H_
#define VRAMSTOW_ALLOCATOR_HEAP_SPAN_TABLE_H_

#include <atomic>
#include <bit>
#include <cstdint>

#include "allocator/core/counter.h"
#include "allocator/heap/span.h"
#include "allocator/heap/span_index.h"
#include "base/rounding.h"

namespace vramstow {

class SpanTable {
 public:
  static constexpr int kZones = 2;
  static constexpr uint8_t kSmallZone = 0;
  static constexpr uint8_t kLargeZone = 1;

  struct Region {
    uint64_t address;
    uint64_t size;
    uint32_t first;  // the span at the region's start, which never changes its number
    uint8_t zone;
  };

  // Reserves room for `max_spans` and `max_regions`, or for fewer spans if the address space is
  // limited. Blocks of at most `small_bytes` belong to the small zone.
  bool Open(uint64_t page_bytes, uint64_t small_bytes, uint32_t max_spans, uint32_t max_regions);
  void Close();

  Span& operator[](uint32_t index) { return slab_[index]; }
  const Span& operator[](uint32_t index) const { return slab_[index]; }
  const SpanSlab& slab() const { return slab_; }
  // Makes sure that the next `count` cuts cannot fail for lack of records. One cut needs at most
  // two.
  bool EnsureSpare(uint32_t count) { return slab_.EnsureSpare(count); }
  // True if a block can be cut out. Two more records than a cut needs stay in reserve, so that
  // cached memory can still be released when no other record is left.
  bool CanCut() const { return slab_.spare() >= 4; }

  uint8_t ZoneOf(uint64_t size) const { return size <= small_bytes_ ? kSmallZone : kLargeZone; }
  uint64_t page_bytes() const { return page_bytes_; }
  int page_shift() const { return page_shift_; }
  uint64_t PageUp(uint64_t address) const { return AlignUp(address, page_bytes_); }
  uint64_t PageDown(uint64_t address) const { return address & ~(page_bytes_ - 1); }

  // --- Free spans and holes, by zone -------------------------------------------------------------
  const SpanIndex& free(uint8_t zone) const { return zones_[zone].free; }
  const SpanIndex& holes(uint8_t zone) const { return zones_[zone].holes; }
  bool IsFree(uint32_t index) const { return index != 0 && slab_[index].state == SpanState::kFree; }
  bool IsHole(uint32_t index) const { return index != 0 && slab_[index].state == SpanState::kHole; }
  // Returns a hole with an address in [from, to), or 0.
  uint32_t FindHole(uint64_t from, uint64_t to) const;
  // Returns the span that contains the address, or 0. Walks along the region's spans, from the
  // nearest span that an earlier walk has recorded as a hint.
  uint32_t FindSpan(uint64_t address) const;
  uint64_t walked() const { return walked_; }  // spans that walks have visited so far
  uint64_t LargestFree() const;
  uint64_t free_bytes() const { return zones_[0].free.bytes() + zones_[1].free.bytes(); }
  uint64_t hole_bytes() const { return zones_[0].holes.bytes() + zones_[1].holes.bytes(); }
  uint32_t free_pieces() const { return zones_[0].free.count() + zones_[1].free.count(); }

  // --- Cutting and joining -----------------------------------------------------------------------
  // Cuts [offset, offset + size) out of a free span; the rest stays free. Returns the cut span,
  // which is in no index.
  uint32_t CutFree(uint32_t index, uint64_t offset, uint64_t size) {
    zones_[slab_[index].zone].free.Remove(&slab_, index);
    return CutTaken(index, offset, size);
  }
  // Joins a span that is in no list with its free neighbours, and puts the result into the index.
  // The lowest of the joined spans keeps its number, which is returned.
  uint32_t JoinFree(uint32_t index);
  // Turns [from, to), whole pages of a free span, into a hole.
  void MakeHole(uint32_t index, uint64_t from, uint64_t to);
  // Turns [from, from + size), whole pages of a hole, into a free span. The heap's stream may touch
  // these pages until `tick` has completed.
  void FillHole(uint32_t hole, uint64_t from, uint64_t size, uint32_t tick);

  // --- Regions -----------------------------------------------------------------------------------
  // Makes sure that the next region can be added. Returns false if the limit is reached or no
  // memory is left.
  bool EnsureRoomForRegion() {
    return (region_count_ < region_room_ || GrowRegions()) && slab_.EnsureSpare(1);
  }
  // Add a region that is one hole (AddHoleRegion), or one free span that was freed in `epoch`
  // (AddFreeRegion).
  void AddHoleRegion(uint64_t address, uint64_t size, uint8_t zone);
  void AddFreeRegion(uint64_t address, uint64_t size, uint8_t zone, uint32_t epoch);
  // Removes a region that is one free span. The last region gets the removed region's number.
  void ForgetFreeRegion(uint32_t number);
  uint32_t region_count() const { return region_count_; }
  const Region& region(uint32_t number) const { return regions_[number]; }

  // Calls visit(span) for all spans, in order of address within each region.
  template <typename Visitor>
  void Visit(Visitor visit) const {
    for (uint32_t r = 0; r < region_count_; ++r) {
      for (uint32_t i = regions_[r].first; i != 0; i = slab_[i].next) visit(slab_[i]);
    }
  }
  template <typename Visitor>
  void VisitMutable(Visitor visit) {
    for (uint32_t r = 0; r < region_count_; ++r) {
      for (uint32_t i = regions_[r].first; i != 0; i = slab_[i].next) visit(&slab_[i]);
    }
  }

  // Bytes of the zone's spans that are not holes.
  uint64_t mapped_bytes(uint8_t zone) const {
    return mapped_bytes_[zone].load(std::memory_order_relaxed);
  }
  uint64_t committed_bytes() const {
    return slab_.committed_bytes() + region_room_ * sizeof(Region);
  }

  // --- A doubly linked list of blocks, through list_previous and list_next -----------------------
  void Link(uint32_t* head, uint32_t index);
  void Unlink(uint32_t* head, uint32_t index);

 private:
  void NoteStep(uint32_t before, uint32_t next) const;
  uint32_t BeginOfWalk(const Region& region, uint64_t address) const;
  uint32_t& HintAt(uint64_t address) const { return hints_[(address >> page_shift_) % kHints]; }
  // Deletes a record and clears its state, so that a walk from an old hint does not use the record
  // as a span.
  void Delete(uint32_t index) {
    slab_[index].state = SpanState::kNone;
    slab_.Delete(index);
  }
  struct Zone {
    SpanIndex free;
    SpanIndex holes;
  };

  uint32_t CutTaken(uint32_t index, uint64_t offset, uint64_t size) {
    SpanIndex& free = zones_[slab_[index].zone].free;
    if (offset != 0) {
      const uint32_t upper = SplitAt(index, offset);
      free.Insert(&slab_, index);
      index = upper;
    }
    if (slab_[index].size != size) free.Insert(&slab_, SplitAt(index, size));
    return index;
  }
  uint32_t SplitAt(uint32_t index, uint64_t offset);
  bool GrowRegions();
  void Absorb(uint32_t low, uint32_t high);

  SpanSlab slab_;
  uint64_t page_bytes_ = 0;
  uint64_t small_bytes_ = 0;
  int page_shift_ = 0;
  uint32_t region_count_ = 0;
  Zone zones_[kZones];
  uint32_t max_regions_ = 0;
  uint32_t region_room_ = 0;  // capacity of `regions_`
  Region* regions_ = nullptr;
  // Hints for walks, indexed by page; several pages share an element. A hint is a span in which the
  // page begins, or did so earlier; 0 means that there is no hint.
  static constexpr uint32_t kHints = 4096;
  uint32_t* hints_ = nullptr;
  mutable uint64_t walked_ = 0;
  std::atomic<uint64_t> mapped_bytes_[kZones]{};
};

}  // namespace vramstow

#endif  // VRAMSTOW_ALLOCATOR_HEAP_SPAN_TABLE_H_
