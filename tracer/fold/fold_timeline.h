// FoldTimeline stores levels over time in a bounded number of intervals, as the analysis does.
//
// Idea: it uses the same algorithm as tools/analysis/accounts/timeline.h, but not the heap. So its
// result can replace the one that the analysis would have computed.
//
// Ownership: a value; an object of zeros is empty. Threads: one at a time. Errors: a time before
// the last one counts as the last one. No heap. Units: bytes, nanoseconds.
#ifndef VRAMSTOW_TRACER_FOLD_FOLD_TIMELINE_H_
#define VRAMSTOW_TRACER_FOLD_FOLD_TIMELINE_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "tracer/format/sums.h"

namespace vramstow {

class FoldTimeline {
 public:
  static constexpr size_t kMaxPoints = 512;

  // Records the levels before an event at `time_ns` and after it. A point contains the highest and
  // the last levels of its interval.
  void Note(uint64_t time_ns, const SumPoint& before, const SumPoint& after) {
    time_ns = std::min(time_ns, kLongest);
    if (count_ == 0) count_ = 1;
    if (time_ns >= count_ << shift_) Close(before, time_ns);
    SumPoint& point = points_[count_ - 1];
    point.allocated_highest = std::max(point.allocated_highest, after.allocated_highest);
    point.reserved_highest = std::max(point.reserved_highest, after.reserved_highest);
    point.host_highest = std::max(point.host_highest, after.host_highest);
    point.managed_highest = std::max(point.managed_highest, after.managed_highest);
    EndWith(after, &point);
  }

  uint64_t shift() const { return shift_; }
  size_t count() const { return count_; }
  const SumPoint& at(size_t i) const { return points_[i]; }

 private:
  static constexpr uint64_t kLongest = uint64_t{1} << 62;

  static void EndWith(const SumPoint& state, SumPoint* point) {
    point->allocated_last = state.allocated_last;
    point->requested_last = state.requested_last;
  }

  void Close(const SumPoint& state, uint64_t time_ns) {
    EndWith(state, &points_[count_ - 1]);
    while ((time_ns >> shift_) >= kMaxPoints) {
      if (count_ % 2 != 0) points_[count_++] = state;
      Halve();
    }
    const size_t index = static_cast<size_t>(time_ns >> shift_);
    while (count_ <= index) points_[count_++] = state;
  }

  void Halve() {
    for (size_t i = 0; i + 1 < count_; i += 2) {
      SumPoint joined = points_[i + 1];
      const SumPoint& first = points_[i];
      joined.allocated_highest = std::max(joined.allocated_highest, first.allocated_highest);
      joined.reserved_highest = std::max(joined.reserved_highest, first.reserved_highest);
      joined.host_highest = std::max(joined.host_highest, first.host_highest);
      joined.managed_highest = std::max(joined.managed_highest, first.managed_highest);
      points_[i / 2] = joined;
    }
    count_ /= 2;
    ++shift_;
  }

  uint64_t shift_ = 10;
  size_t count_ = 0;
  SumPoint points_[kMaxPoints + 1] = {};
};

}  // namespace vramstow

#endif  // VRAMSTOW_TRACER_FOLD_FOLD_TIMELINE_H_
