// The clock of a trace: nanoseconds since it began, by CLOCK_MONOTONIC, read from the processor's
// counter where that is steady.
//
// Idea: asking the kernel costs twice as much as the processor's counter. So each thread asks the
// kernel every kAnchorNs, and in between adds what the counter says. The counter's rate comes from
// the first and the latest of these readings; it is used once they lie kCalibrationNs apart. Where
// the kernel itself does not trust the counter, it is not used at all.
//
// Error: a rate that is wrong by 10^-5 gives at most half a microsecond until the next anchor. Two
// threads' times may differ by that much from the order of their events: the order is the
// sequence's business. Ownership: values. Threads: TraceClock may be used by all at once, a
// ThreadClock by one. Errors: none. Units: nanoseconds.
#ifndef VRAMSTOW_TRACER_CLOCK_H_
#define VRAMSTOW_TRACER_CLOCK_H_

#include <atomic>
#include <cstdint>

#if defined(__x86_64__)
#include <x86intrin.h>
#endif

namespace vramstow {

inline constexpr uint64_t kAnchorNs = 50'000'000;
inline constexpr uint64_t kCalibrationNs = 10'000'000;

inline uint64_t ReadCounter() {
#if defined(__x86_64__)
  return __rdtsc();
#elif defined(__aarch64__)
  uint64_t ticks;
  asm volatile("mrs %0, cntvct_el0" : "=r"(ticks));
  return ticks;
#else
  return 0;
#endif
}

class TraceClock {
 public:
  // Sets time 0 to now.
  void Start();

  // For tests: as if the kernel did not trust the counter.
  void StopUsingCounter() { counter_is_steady_.store(false, std::memory_order_relaxed); }

  uint64_t start_unix_ns() const { return start_unix_ns_; }
  uint64_t start_clock_ns() const { return start_clock_ns_; }

  struct Reading {
    uint64_t counter;
    uint64_t time_ns;
  };
  // Both clocks at the same moment, as nearly as can be.
  Reading Read() const;

  // Nanoseconds per tick of the counter times 2^32, as known by `now`; 0 if not known (yet).
  uint64_t Scale(const Reading& now);

 private:
  uint64_t start_unix_ns_ = 0;
  uint64_t start_clock_ns_ = 0;
  uint64_t start_counter_ = 0;
  std::atomic<uint64_t> last_scale_{0};
  std::atomic<bool> counter_is_steady_{false};
};

class ThreadClock {
 public:
  uint64_t Now(TraceClock* clock) {
    const uint64_t ticks = ReadCounter() - anchor_counter_;
    if (ticks < valid_ticks_) [[likely]] {
      return anchor_ns_ + ((ticks * scale_) >> 32);
    }
    return SetAnchor(clock);
  }

 private:
  uint64_t SetAnchor(TraceClock* clock);

  uint64_t anchor_counter_ = 0;
  uint64_t anchor_ns_ = 0;
  uint64_t scale_ = 0;
  uint64_t valid_ticks_ = 0;  // times scale_ it stays below 2^64
};

}  // namespace vramstow

#endif  // VRAMSTOW_TRACER_CLOCK_H_
