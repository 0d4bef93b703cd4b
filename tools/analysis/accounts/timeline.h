// Timeline: levels over time, in a bounded number of intervals of equal length.
//
// Idea: how long the trace is shows only at its end, so the intervals start short, and whenever the
// time runs over the last one, pairs are joined and the length doubles. Highest values stay exact.
//
// Ownership: copies. Threads: one at a time. Errors: time that runs backwards (a thread that was
// interrupted between taking the time and its number) counts as standing still. Units: bytes,
// nanoseconds. Memory: bounded. Cost: a comparison for most events.
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

  // Whether `time_ns` lies beyond the interval that is being filled. The caller then gives the
  // state at its end to Close, before Note.
  bool IsBeyond(uint64_t time_ns) const { return time_ns >= interval_end_; }
  // Ends the interval being filled with these levels, and begins the one of `time_ns` with them.
  void Close(const TimelinePoint& state, uint64_t time_ns);
  // Levels after an event.
  void Note(uint64_t allocated, uint64_t reserved, uint64_t host, uint64_t managed);

  // Before Finish: these were the levels over time, up to one that is no later than the newest.
  void AddPoints(const std::vector<SumPoint>& points, uint64_t shift, uint64_t until_ns);

  // The intervals up to the one being filled, which ends with `state`.
  TimelineFacts Finish(const TimelinePoint& state) const;

 private:
  void Halve();

  uint64_t shift_;  // an interval is 2^shift_ nanoseconds
  uint64_t interval_end_;
  std::vector<TimelinePoint> points_;  // the last is being filled
};

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_ANALYSIS_ACCOUNTS_TIMELINE_H_
