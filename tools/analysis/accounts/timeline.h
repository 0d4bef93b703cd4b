// Timeline: levels over time, in a bounded number of intervals of equal length.
//
// Idea: the length of the trace is known only at its end, so the intervals start short. Whenever an
// event comes after the end of the last possible interval, pairs of intervals are joined and their
// length doubles. Highest values stay exact.
//
// Ownership: keeps its own copies. Threads: used by one thread at a time. Errors: if the time of an
// event is before that of the previous one (a thread was interrupted between reading the clock and
// getting its number), the time of the previous one is used. Units: bytes, nanoseconds. Memory:
// bounded. Cost: a comparison for most events.
#ifndef VRAMSTOW_TOOLS_ANALYSIS_ACCOUNTS_TIMELINE_H_
#define VRAMSTOW_TOOLS_ANALYSIS_ACCOUNTS_TIMELINE_H_

#include <cstdint>
#include <vector>

#include "tools/analysis/facts/facts.h"
#include "tracer/format/sums.h"

namespace vramstow {

class Timeline {
 public:
  static constexpr size_t kMaxPoints = 512;

  Timeline();

  // True if `time_ns` lies beyond the current interval. Then the caller must call Close with the
  // state at the end of the interval before it calls Note.
  bool IsBeyond(uint64_t time_ns) const { return time_ns >= interval_end_; }
  // Ends the current interval with the levels `state`, and begins the interval that contains
  // `time_ns` with the same levels.
  void Close(const TimelinePoint& state, uint64_t time_ns);
  // Records the levels after an event.
  void Note(uint64_t allocated, uint64_t reserved, uint64_t host, uint64_t managed);

  // Adds earlier levels over time. `until_ns`, their end, must not be later than the newest level.
  // Call it before Finish.
  void AddPoints(const std::vector<SumPoint>& points, uint64_t shift, uint64_t until_ns);

  // Returns the intervals up to the current one, which ends with `state`.
  TimelineFacts Finish(const TimelinePoint& state) const;

 private:
  void Halve();

  uint64_t shift_;  // an interval is 2^shift_ nanoseconds
  uint64_t interval_end_;
  std::vector<TimelinePoint> points_;  // the last is being filled
};

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_ANALYSIS_ACCOUNTS_TIMELINE_H_
