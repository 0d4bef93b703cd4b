// SampleClock determines the moments at which levels are sampled over a run of unknown length.
//
// Idea: there are at most kMaxSamples moments, at equal distances. At first they are a microsecond
// apart. When all of them are used, every other one is dropped and the distance doubles. So after
// the beginning at least half of them are in use at any time, and all users that sample the same
// events get the same moments.
//
// Ownership: a value; zeros are its beginning. Threads: one at a time. Errors: a time that runs
// backwards counts as unchanged. No heap. Units: nanoseconds since the trace began.
#ifndef VRAMSTOW_TRACER_FORMAT_SAMPLE_CLOCK_H_
#define VRAMSTOW_TRACER_FORMAT_SAMPLE_CLOCK_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "tracer/format/sums.h"

namespace vramstow {

class SampleClock {
 public:
  // True if a sample is due before an event at this time. Its level is the level after all earlier
  // events.
  bool IsDue(uint64_t time_ns) const { return time_ns >= next(); }

  // Calls store(i) for each moment up to this time, and halve() in between if there are too many:
  // then the sample stored at 2i + 1 moves to i.
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
