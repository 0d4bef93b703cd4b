#include "allocator/heap/span_index.h"

namespace vramstow {

uint32_t SpanIndex::SmallestIn(const SpanSlab& slab, uint32_t head, uint64_t size) const {
  uint32_t best = 0;
  int looks = 0;
  for (uint32_t i = head; i != 0 && looks < kLooks; i = slab[i].list_next, ++looks) {
    const Span& span = slab[i];
    if (span.size == size) return i;
    if (span.size > size && (best == 0 || span.size < slab[best].size)) best = i;
  }
  return best;
}

uint32_t SpanIndex::Find(const SpanSlab& slab, uint64_t size) const {
  const ListPosition place = PositionOf(size);
  const uint32_t own = heads_[place.row][place.step];
  if (own != 0) {
    const uint32_t found = SmallestIn(slab, own, size);
    if (found != 0) return found;
  }
  // In every list of larger sizes each member is large enough.
  const uint32_t later =
      place.step + 1 < kSteps ? steps_[place.row] & (~uint32_t{0} << (place.step + 1)) : 0;
  int row = place.row;
  int step = 0;
  if (later != 0) {
    step = std::countr_zero(later);
  } else {
    const uint64_t above = row + 1 < kRows ? rows_ & (~uint64_t{0} << (row + 1)) : 0;
    if (above == 0) return 0;
    row = std::countr_zero(above);
    step = std::countr_zero(steps_[row]);
  }
  // In the first row each list holds spans of a single size, so any member of the list will do.
  return row == 0 ? heads_[0][step] : SmallestIn(slab, heads_[row][step], size);
}

uint64_t SpanIndex::LargestSize(const SpanSlab& slab) const {
  if (rows_ == 0) return 0;
  const int row = 63 - std::countl_zero(rows_);
  const int step = 31 - std::countl_zero(steps_[row]);
  uint64_t largest = 0;
  for (uint32_t i = heads_[row][step]; i != 0; i = slab[i].list_next) {
    if (slab[i].size > largest) largest = slab[i].size;
  }
  return largest;
}

}  // namespace vramstow
