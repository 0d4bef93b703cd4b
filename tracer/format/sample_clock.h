// SampleClock determines the moments at which levels are sampled over a run of unknown length.
//
// Idea: there are at most kMaxSamples moments, at equal distances. At first the distance is a
// microsecond. When all of the moments are used, every other one is dropped and the distance
// doubles. So after the beginning at least half of the moments are in use at any time, and all
// users that sample the same events get the same moments.
//
// Ownership: a value; an object of zeros is empty. Threads: one at a time. Errors: a time before
// the last one counts as the last one. No heap. Units: nanoseconds since the trace began.
#ifndef VRAMSTOW_TRACER_FORMAT_SAMPLE_CLOCK_H_
#define VRAMSTOW_TRACER_FORMAT_SAMPLE_CLOCK_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "tracer/format/sums.h"

namespace vramstow {

class SampleClock {
 public:
  // True if a sample is due before an event at this time. The sampled level is the level after all
  // earlier events.
  bool IsDue(uint64_t time_ns) const { return time_ns >= next(); }

  // Calls store(i) for each moment up to this time that was not sampled yet. In between it calls
  // halve() if there are too many samples; halve() has to move the sample at 2i + 1 to i.
  template <typename Store, typename Halve>
  void Pass(uint64_t time_ns, Store store, Halve halve) {
    time_ns = std::min(time_ns, kLongest);
    while (IsDue(time_ns)) {
      if (count_ == kMaxSamples) {
        halve();
        count_ /= 2;
        ++widened_;
      } else {
        store(count_++);
      }
    }
  }

  size_t count() const { return count_; }
  // Sample i was taken at the moment (i + 1) << shift().
  uint64_t shift() const { return kFirstShift + widened_; }

 private:
  static constexpr uint64_t kFirstShift = 10;
  static constexpr uint64_t kLongest = uint64_t{1} << 62;

  uint64_t next() const { return (uint64_t{count_} + 1) << shift(); }

  size_t count_ = 0;
  uint64_t widened_ = 0;
};

}  // namespace vramstow

#endif  // VRAMSTOW_TRACER_FORMAT_SAMPLE_CLOCK_H_
