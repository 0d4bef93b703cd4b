// TraceClock orders the events of all threads by ticks of the processor's counter, and converts
// ticks to nanoseconds of CLOCK_MONOTONIC.
//
// Idea: the counter runs at one speed on all cores, and the cores' counters agree. So it orders
// events without a word of memory that all threads write to, and also gives their time. The counter
// is read behind a fence, so that no core reads it before it has seen the memory that the event
// depends on. If one thread's event ends before another thread's event begins, and anything in
// memory shows this, the first event has fewer ticks. The kernel's own clock depends on the same
// property (Linux, lib/vdso). If the kernel does not trust the counter, the counter is not used: an
// atomic counter numbers the events instead.
//
// A computer that was suspended to memory may continue with a counter that begins at zero again.
// The ticks are then negative, which is seen wherever a time is not later than the last one by a
// short step: the clock is set such that its ticks continue where they were.
//
// Error: nanoseconds come from pairs of readings, each wrong by some 50 ns; see Scale. Ownership:
// values. Threads: Start once, all other functions by all threads at any time. Errors: none. Units:
// ticks and nanoseconds since the trace began.
#ifndef VRAMSTOW_TRACER_CLOCK_H_
#define VRAMSTOW_TRACER_CLOCK_H_

#include <atomic>
#include <cstdint>

#if defined(__x86_64__)
#include <x86intrin.h>
#endif

namespace vramstow {

// The longest and the shortest time after which a thread's chunk gets a new clock record.
inline constexpr uint64_t kAnchorNs = 50'000'000;
inline constexpr uint64_t kFirstAnchorNs = 200'000;

// The number of the counter's lowest bits that are dropped. These bits stand for a few nanoseconds.
// That is less time than Record takes, and much less than a signal needs from one core to another,
// so the bits do not help to order events. But they look random, and random bits cannot be
// compressed.
#if defined(VRAMSTOW_COUNTER_SHIFT)
// The build sets the number for a program that runs many times as slowly as usual, for example
// under valgrind, so that the encoded time steps are as small as usual.
inline constexpr unsigned kCounterShift = VRAMSTOW_COUNTER_SHIFT;
#elif defined(__x86_64__)
inline constexpr unsigned kCounterShift = 3;  // these bits stand for 2 to 8 ns at 1 to 4 GHz
#else
inline constexpr unsigned kCounterShift = 0;
#endif

// Reads the counter after all earlier reads of the calling thread have finished.
inline uint64_t ReadCounter() {
#if defined(__x86_64__)
  // LFENCE waits for all earlier instructions; RDTSC alone may be executed early (Intel SDM,
  // RDTSC).
  _mm_lfence();
  return __rdtsc() >> kCounterShift;
#elif defined(__aarch64__)
  uint64_t ticks;
  asm volatile("isb\n\tmrs %0, cntvct_el0" : "=r"(ticks)::"memory");
  return ticks;
#else
  return 0;
#endif
}

// Reads the counter without a fence. The value may be older than the thread's last reads of memory,
// but it is never newer than the thread's next writes. The value may order events only on a
// processor whose loads are seen in program order, and only as single_writer.h describes.
#if defined(__x86_64__)
inline constexpr bool kHasQuickCounter = true;
inline uint64_t ReadCounterQuickly() { return __rdtsc() >> kCounterShift; }
#else
inline constexpr bool kHasQuickCounter = false;
inline uint64_t ReadCounterQuickly() { return ReadCounter(); }
#endif

class TraceClock {
 public:
  // Starts the clock: the present moment becomes time 0. If `may_use_counter` is false, the
  // processor's counter is not used.
  void Start(bool may_use_counter);

  // True if ticks order the events.
  bool counter_is_trusted() const { return counter_is_trusted_; }

  // If the counter was reset, the result of these two functions is later than every time of the
  // trace.
  uint64_t Ticks() const { return ReadCounter() - start_counter_; }
  uint64_t QuickTicks() const { return ReadCounterQuickly() - start_counter_; }
  // Returns Ticks(). If the counter was reset, sets the clock first.
  uint64_t CheckedTicks() const {
    const uint64_t ticks = Ticks();
    return IsReset(ticks) ? TicksAfterReset() : ticks;
  }
  uint64_t Nanoseconds() const;

  uint64_t start_unix_ns() const { return start_unix_ns_; }
  uint64_t start_clock_ns() const { return start_clock_ns_; }

  struct Reading {
    uint64_t ticks;
    uint64_t time_ns;
  };
  // Reads both clocks at nearly the same moment. If the counter was reset, sets the clock first.
  Reading Read() const;

  // Returns nanoseconds per tick times 2^32, measured over the time since Start. The error is 10^-7
  // after one second. ValidTicks says how long the value may be used.
  static uint64_t Scale(const Reading& now);
  // Returns for how many ticks a scale that was measured now may be used. This is the age of the
  // trace, but at least kFirstAnchorNs and at most kAnchorNs. The error of a time then remains at
  // some 100 ns.
  static uint64_t ValidTicks(const Reading& now);
  // Converts nanoseconds to ticks.
  static uint64_t TicksOf(uint64_t time_ns, const Reading& now);

  // Makes the counter seem to have been reset to the value that it had `ticks` ago.
  void ResetCounterForTest(uint64_t ticks) { start_counter_ += ticks; }

 private:
  static bool IsReset(uint64_t ticks) { return static_cast<int64_t>(ticks) < 0; }
  uint64_t TicksAfterReset() const;

  uint64_t start_unix_ns_ = 0;
  uint64_t start_clock_ns_ = 0;
  // It is written after Start only if the counter was reset. Each event reads it without
  // std::atomic, for which the compiler needs one more instruction: an aligned word is read whole.
  mutable uint64_t start_counter_ = 0;
  mutable std::atomic<uint64_t> scale_{0};  // as Scale, at the last call of Read
  bool counter_is_trusted_ = false;
};

}  // namespace vramstow

#endif  // VRAMSTOW_TRACER_CLOCK_H_
