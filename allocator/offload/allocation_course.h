// AllocationCourse: records how many bytes are allocated over the course of an iteration, to
// predict the rest of the next one.
//
// Idea: iterations resemble each other. Memory that is restored too early must be evicted again
// when the program allocates more. So before memory is restored, MostToCome returns the most bytes
// that the previous iteration had allocated from the same moment on. Time is the number of calls of
// Tick. A sample covers one tick, or 2^n ticks in a long iteration.
//
// Ownership: values. Threads: guarded by its owner's lock. Errors: none. Units: bytes.
#ifndef VRAMSTOW_ALLOCATOR_OFFLOAD_ALLOCATION_COURSE_H_
#define VRAMSTOW_ALLOCATOR_OFFLOAD_ALLOCATION_COURSE_H_

#include <algorithm>
#include <cstdint>

namespace vramstow {

class AllocationCourse {
 public:
  // Begins an iteration. The forecasts then use the samples of the iteration that ended.
  void Begin() {
    uint64_t most = 0;
    for (uint32_t i = kSamples; i != 0; --i) {
      most = std::max(most, now_.bytes[i - 1]);
      most_from_[i - 1] = most;
    }
    before_ = now_;
    now_ = {};
    tick_ = 0;
  }
  void Forget() { *this = {}; }

  void Tick() {
    ++tick_;
    if ((tick_ >> now_.shift) < kSamples) return;
    for (uint32_t i = 0; i < kSamples; ++i) {
      now_.bytes[i] = 2 * i < kSamples ? std::max(now_.bytes[2 * i], now_.bytes[2 * i + 1]) : 0;
    }
    ++now_.shift;
  }
  // Records that this number of bytes is allocated now.
  void Note(uint64_t bytes) {
    uint64_t& most = now_.bytes[tick_ >> now_.shift];
    most = std::max(most, bytes);
  }
  // Returns the most bytes that the previous iteration had allocated from this tick on, or 0 if
  // that iteration was shorter.
  uint64_t MostToCome() const {
    const uint64_t at = tick_ >> before_.shift;
    return at < kSamples ? most_from_[at] : 0;
  }
  // Returns the most bytes that it had allocated within the next `ticks` ticks. The function takes
  // longer the more ticks there are.
  uint64_t MostWithin(uint64_t ticks) const {
    const uint64_t last = std::min<uint64_t>((tick_ + ticks) >> before_.shift, kSamples - 1);
    uint64_t most = 0;
    for (uint64_t i = tick_ >> before_.shift; i <= last; ++i) {
      most = std::max(most, before_.bytes[i]);
    }
    return most;
  }

 private:
  static constexpr uint32_t kSamples = 256;

  struct Samples {
    uint64_t bytes[kSamples] = {};
    uint32_t shift = 0;  // 2^shift ticks share a sample
  };

  uint64_t tick_ = 0;
  Samples now_;
  Samples before_;
  uint64_t most_from_[kSamples] = {};  // the largest sample of `before_` from each index on
};

}  // namespace vramstow

#endif  // VRAMSTOW_ALLOCATOR_OFFLOAD_ALLOCATION_COURSE_H_
