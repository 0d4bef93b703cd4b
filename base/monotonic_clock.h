// The monotonic clock of the system, and waiting by it.
//
// Ownership: none. Threads: any. Errors: none. No heap. Units: nanoseconds.
#ifndef VRAMSTOW_BASE_MONOTONIC_CLOCK_H_
#define VRAMSTOW_BASE_MONOTONIC_CLOCK_H_

#include <time.h>

#include <cstdint>

namespace vramstow {

// Returns the time of CLOCK_MONOTONIC.
inline uint64_t MonotonicTime() {
  timespec time = {};
  clock_gettime(CLOCK_MONOTONIC, &time);
  return static_cast<uint64_t>(time.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(time.tv_nsec);
}

// Converts a duration to the form that system calls take.
inline timespec ToTimespec(uint64_t nanoseconds) {
  return {static_cast<time_t>(nanoseconds / 1'000'000'000),
          static_cast<long>(nanoseconds % 1'000'000'000)};
}

inline void SleepFor(uint64_t nanoseconds) {
  const timespec time = ToTimespec(nanoseconds);
  nanosleep(&time, nullptr);
}

// Waits until is_done() is true, at most `milliseconds`, and asks once in each millisecond.
template <typename IsDone>
void WaitUpTo(int milliseconds, IsDone is_done) {
  for (int i = 0; i < milliseconds && !is_done(); ++i) SleepFor(1'000'000);
}

}  // namespace vramstow

#endif  // VRAMSTOW_BASE_MONOTONIC_CLOCK_H_
