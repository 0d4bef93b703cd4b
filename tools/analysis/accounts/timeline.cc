#include "tools/analysis/accounts/timeline.h"

#include <algorithm>

namespace vramstow {
namespace {

constexpr uint64_t kFirstShift = 10;  // about a microsecond
// A time in nanoseconds, longer than any process lives. It bounds the shift even if the trace is
// damaged.
constexpr uint64_t kLongest = uint64_t{1} << 62;

TimelinePoint Joined(const TimelinePoint& first, const TimelinePoint& second) {
  TimelinePoint joined = second;
  joined.allocated_highest = std::max(first.allocated_highest, second.allocated_highest);
  joined.reserved_highest = std::max(first.reserved_highest, second.reserved_highest);
  joined.host_highest = std::max(first.host_highest, second.host_highest);
  joined.managed_highest = std::max(first.managed_highest, second.managed_highest);
  // Of the two free-memory states, the joined interval shows the one with more unusable bytes.
  if (first.ranges.unusable_bytes > second.ranges.unusable_bytes) joined.ranges = first.ranges;
  return joined;
}

// Sets the values of `point` at the end of its interval. The highest values of the interval are
// unchanged.
void EndWith(const TimelinePoint& state, TimelinePoint* point) {
  point->allocated_last = state.allocated_last;
  point->requested_last = state.requested_last;
  point->ranges = state.ranges;
}

// Returns an interval that follows `state` and in which nothing happens.
TimelinePoint Quiet(const TimelinePoint& state) {
  TimelinePoint point = state;
  point.allocated_highest = state.allocated_last;
  return point;
}

}  // namespace

Timeline::Timeline() : shift_(kFirstShift), interval_end_(uint64_t{1} << kFirstShift) {
  points_.reserve(kMaxPoints);
  points_.emplace_back();
}

void Timeline::Note(uint64_t allocated, uint64_t reserved, uint64_t host, uint64_t managed) {
  TimelinePoint& point = points_.back();
  point.allocated_highest = std::max(point.allocated_highest, allocated);
  point.reserved_highest = std::max(point.reserved_highest, reserved);
  point.host_highest = std::max(point.host_highest, host);
  point.managed_highest = std::max(point.managed_highest, managed);
}

void Timeline::Close(const TimelinePoint& state, uint64_t time_ns) {
  time_ns = std::min(time_ns, kLongest);
  EndWith(state, &points_.back());
  while ((time_ns >> shift_) >= kMaxPoints) {
    if (points_.size() % 2 != 0) points_.push_back(Quiet(state));
    Halve();
  }
  const size_t index = static_cast<size_t>(time_ns >> shift_);
  if (index >= points_.size()) points_.resize(index + 1, Quiet(state));
  interval_end_ = static_cast<uint64_t>(points_.size()) << shift_;
}

void Timeline::Halve() {
  for (size_t i = 0; i + 1 < points_.size(); i += 2) {
    points_[i / 2] = Joined(points_[i], points_[i + 1]);
  }
  points_.resize(points_.size() / 2);
  ++shift_;
}

void Timeline::AddPoints(const std::vector<SumPoint>& points, uint64_t shift, uint64_t until_ns) {
  while (shift_ < shift && points_.size() > 1) {
    if (points_.size() % 2 != 0) points_.push_back(Quiet(points_.back()));
    Halve();
  }
  if (shift_ < shift) shift_ = std::min<uint64_t>(shift, 62);
  const uint64_t joined = shift_ > shift ? std::min<uint64_t>(shift_ - shift, 62) : 0;
  const uint64_t last = std::min(until_ns, kLongest) >> shift_;
  for (size_t i = 0; i < points.size(); ++i) {
    const size_t at = i >> joined;
    if (at >= points_.size()) return;
    TimelinePoint& point = points_[at];
    point.allocated_highest = std::max(point.allocated_highest, points[i].allocated_highest);
    point.reserved_highest = std::max(point.reserved_highest, points[i].reserved_highest);
    point.host_highest = std::max(point.host_highest, points[i].host_highest);
    point.managed_highest = std::max(point.managed_highest, points[i].managed_highest);
    if (at >= last) continue;  // later levels are known already
    point.allocated_last = points[i].allocated_last;
    point.requested_last = points[i].requested_last;
  }
}

TimelineFacts Timeline::Finish(const TimelinePoint& state) const {
  TimelineFacts facts;
  facts.interval_ns = uint64_t{1} << shift_;
  facts.points = points_;
  EndWith(state, &facts.points.back());
  return facts;
}

}  // namespace vramstow
