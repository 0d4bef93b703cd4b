#include "simulator/device/uncomputed_ranges.h"

#include <algorithm>
#include <iterator>
#include <vector>

namespace vramstow::simulator {

void UncomputedRanges::Mark(uint64_t address, uint64_t bytes, const char* by, bool is_old) {
  if (bytes == 0) return;
  Clear(address, bytes);
  auto range = ranges_.emplace(address, Range{address + bytes, by, is_old}).first;
  // Adjacent ranges of the same kernel are merged, so that the table stays small.
  const auto next = std::next(range);
  if (next != ranges_.end() && next->first == range->second.end &&
      next->second.IsLike(range->second)) {
    range->second.end = next->second.end;
    ranges_.erase(next);
  }
  if (range == ranges_.begin()) return;
  const auto before = std::prev(range);
  if (before->second.end == address && before->second.IsLike(range->second)) {
    before->second.end = range->second.end;
    ranges_.erase(range);
  }
}

void UncomputedRanges::Clear(uint64_t address, uint64_t bytes) {
  if (ranges_.empty() || bytes == 0) return;
  const uint64_t end = address + bytes;
  auto range = ranges_.upper_bound(address);
  if (range != ranges_.begin()) --range;
  while (range != ranges_.end() && range->first < end) {
    const uint64_t first = range->first;
    const Range old = range->second;
    if (old.end <= address) {
      ++range;
      continue;
    }
    range = ranges_.erase(range);
    if (first < address) ranges_.emplace(first, Range{address, old.by, old.is_old});
    if (old.end > end) ranges_.emplace(end, Range{old.end, old.by, old.is_old});
  }
}

const char* UncomputedRanges::Find(uint64_t address, uint64_t bytes) const {
  if (ranges_.empty() || bytes == 0) return nullptr;
  auto range = ranges_.upper_bound(address);
  if (range != ranges_.begin()) {
    const auto before = std::prev(range);
    if (before->second.end > address) return before->second.by;
  }
  return range != ranges_.end() && range->first < address + bytes ? range->second.by : nullptr;
}

const char* UncomputedRanges::FindLost(uint64_t address, uint64_t bytes) const {
  if (ranges_.empty() || bytes == 0) return nullptr;
  auto range = ranges_.upper_bound(address);
  if (range != ranges_.begin()) --range;
  for (; range != ranges_.end() && range->first < address + bytes; ++range) {
    if (range->second.end > address && !range->second.is_old) return range->second.by;
  }
  return nullptr;
}

void UncomputedRanges::CopyOf(const UncomputedRanges& other, uint64_t to, uint64_t from,
                              uint64_t bytes) {
  if (other.empty()) return Clear(to, bytes);
  struct Piece {
    uint64_t offset;
    uint64_t bytes;
    Range range;
  };
  std::vector<Piece> pieces;
  auto range = other.ranges_.upper_bound(from);
  if (range != other.ranges_.begin()) --range;
  for (; range != other.ranges_.end() && range->first < from + bytes; ++range) {
    const uint64_t start = std::max(range->first, from);
    const uint64_t stop = std::min(range->second.end, from + bytes);
    if (start < stop) pieces.push_back({start - from, stop - start, range->second});
  }
  Clear(to, bytes);
  for (const Piece& piece : pieces) {
    Mark(to + piece.offset, piece.bytes, piece.range.by, piece.range.is_old);
  }
}

}  // namespace vramstow::simulator
