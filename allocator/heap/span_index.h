// SpanIndex: finds a span of at least a given size in constant time.
//
// Idea: there are 32 lists per power of two of the size, with bitmaps that say which lists have a
// member (M. Masmano et al., "TLSF: a new dynamic memory allocator for real-time systems", 2004).
// In contrast to that paper the list of the requested size itself is searched, too, and the
// smallest of the first few members is chosen from a list. This is closer to best fit, and still
// bounded.
//
// Ownership: the slab owns the spans; the index links them through list_previous and list_next.
// Threads: guarded by the heap's lock. Errors: none. Units: bytes.
#ifndef VRAMSTOW_ALLOCATOR_HEAP_SPAN_INDEX_H_
#define VRAMSTOW_ALLOCATOR_HEAP_SPAN_INDEX_H_

#include <bit>
#include <cstdint>

#include "allocator/heap/span.h"

namespace vramstow {

class SpanIndex {
 public:
  static constexpr int kStepBits = 5;
  static constexpr int kSteps = 1 << kStepBits;
  static constexpr int kRows = 40;

  void Insert(SpanSlab* slab, uint32_t index) {
    Span& span = (*slab)[index];
    const ListPosition place = PositionOf(span.size);
    uint32_t& head = heads_[place.row][place.step];
    span.list_previous = 0;
    span.list_next = head;
    if (head != 0) (*slab)[head].list_previous = index;
    head = index;
    rows_ |= uint64_t{1} << place.row;
    steps_[place.row] |= uint32_t{1} << place.step;
    bytes_ += span.size;
    ++count_;
  }

  void Remove(SpanSlab* slab, uint32_t index) {
    Span& span = (*slab)[index];
    if (span.list_next != 0) (*slab)[span.list_next].list_previous = span.list_previous;
    if (span.list_previous != 0) {
      (*slab)[span.list_previous].list_next = span.list_next;
    } else {
      const ListPosition place = PositionOf(span.size);
      heads_[place.row][place.step] = span.list_next;
      if (span.list_next == 0) {
        steps_[place.row] &= ~(uint32_t{1} << place.step);
        if (steps_[place.row] == 0) rows_ &= ~(uint64_t{1} << place.row);
      }
    }
    bytes_ -= span.size;
    --count_;
  }

  // Returns a span of at least `size`, or 0.
  uint32_t Find(const SpanSlab& slab, uint64_t size) const;

  // Returns the size of the largest member, or 0 if there is none.
  uint64_t LargestSize(const SpanSlab& slab) const;

  // Calls visit(index) for all members of at least `size`, lists of smaller sizes first, until
  // visit returns false. A visitor may remove the visited member or insert others only if it then
  // returns false.
  template <typename Visit>
  void VisitFrom(const SpanSlab& slab, uint64_t size, Visit visit) const {
    const ListPosition first = PositionOf(size);
    uint64_t rows = rows_ & (~uint64_t{0} << first.row);
    for (; rows != 0; rows &= rows - 1) {
      const int row = std::countr_zero(rows);
      uint32_t steps = steps_[row];
      if (row == first.row) steps &= ~uint32_t{0} << first.step;
      for (; steps != 0; steps &= steps - 1) {
        uint32_t following = 0;
        for (uint32_t i = heads_[row][std::countr_zero(steps)]; i != 0; i = following) {
          following = slab[i].list_next;
          if (slab[i].size >= size && !visit(i)) return;
        }
      }
    }
  }

  // Returns the member of at least `size` with the lowest score(span), or 0. Examines at most
  // `looks` members, lists of smaller sizes first. Once a score of at most `enough` was found, no
  // further list is examined. The function suits scores that, with all else equal, grow with the
  // size.
  template <typename Score>
  uint32_t FindBest(const SpanSlab& slab, uint64_t size, int looks, uint64_t enough,
                    Score score) const {
    const ListPosition first = PositionOf(size);
    uint32_t best = 0;
    uint64_t best_score = ~uint64_t{0};
    uint64_t rows = rows_ & (~uint64_t{0} << first.row);
    for (; rows != 0; rows &= rows - 1) {
      const int row = std::countr_zero(rows);
      uint32_t steps = steps_[row];
      if (row == first.row) steps &= ~uint32_t{0} << first.step;
      for (; steps != 0; steps &= steps - 1) {
        for (uint32_t i = heads_[row][std::countr_zero(steps)]; i != 0; i = slab[i].list_next) {
          const Span& span = slab[i];
          // The conditional expressions compile to moves, not to branches that would be
          // mispredicted.
          const uint64_t its = span.size >= size ? score(span) : ~uint64_t{0};
          best = its < best_score ? i : best;
          best_score = its < best_score ? its : best_score;
          looks -= its != ~uint64_t{0};
        }
        if (best_score <= enough || looks <= 0) return best;
      }
    }
    return best;
  }

  uint64_t bytes() const { return bytes_; }
  uint32_t count() const { return count_; }

 private:
  // How many members of a list Find examines at most.
  static constexpr int kLooks = 16;

  struct ListPosition {
    int row;
    int step;
  };
  static ListPosition PositionOf(uint64_t size) {
    const uint64_t units = size / kBlockBytes;
    if (units < kSteps) return {0, static_cast<int>(units)};
    const int top = 63 - std::countl_zero(units);
    return {top - kStepBits + 1, static_cast<int>(units >> (top - kStepBits) & (kSteps - 1))};
  }
  uint32_t SmallestIn(const SpanSlab& slab, uint32_t head, uint64_t size) const;

  uint64_t rows_ = 0;
  uint64_t bytes_ = 0;
  uint32_t count_ = 0;
  uint32_t steps_[kRows] = {};
  uint32_t heads_[kRows][kSteps] = {};
};

}  // namespace vramstow

#endif  // VRAMSTOW_ALLOCATOR_HEAP_SPAN_INDEX_H_
