// AllocationCourse: how much was allocated in the course of an iteration, to tell what is to come.
//
// Idea: iterations resemble each other. Memory that is brought back while more is to be allocated
// would have to leave again. So its room is counted beside the most that will be allocated from now
// on, as it was in the iteration before. Times are counted in ticks; where they are many, some
// share a sample.
//
// Ownership: values. Threads: its owner's lock. Errors: none. Units: bytes.
#ifndef VRAMSTOW_ALLOCATOR_OFFLOAD_ALLOCATION_COURSE_H_
#define VRAMSTOW_ALLOCATOR_OFFLOAD_ALLOCATION_COURSE_H_

#include <algorithm>
#include <cstdint>

namespace vramstow {

class AllocationCourse {
 public:
  // An iteration begins: the one that ended is the one before.
  void Begin() {
    for (uint32_t i = kSamples - 1; i != 0; --i) {
      now_.bytes[i - 1] = std::max(now_.bytes[i - 1], now_.bytes[i]);
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
  // So much is allocated now.
  void Note(uint64_t bytes) {
    uint64_t& most = now_.bytes[tick_ >> now_.shift];
    most = std::max(most, bytes);
  }
  // The most from this tick on, in the iteration before; 0: it had ended by now.
  uint64_t MostToCome() const {
    const uint64_t at = tick_ >> before_.shift;
    return at < kSamples ? before_.bytes[at] : 0;
  }

 private:
  static constexpr uint32_t kSamples = 256;

  struct Samples {
    uint64_t bytes[kSamples] = {};
    uint32_t shift = 0;  // 2^shift ticks share a sample
  };

  uint64_t tick_ = 0;
  Samples now_;
  Samples before_;  // from here on, each is the most of those from there on
};

}  // namespace vramstow

#endif  // VRAMSTOW_ALLOCATOR_OFFLOAD_ALLOCATION_COURSE_H_
