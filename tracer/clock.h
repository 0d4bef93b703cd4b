// The clock of a trace: ticks of the processor's counter, which put the events of all threads in
// order, and what they are in nanoseconds of CLOCK_MONOTONIC.
//
// Idea: a counter that runs at one speed on all cores and agrees between them orders events without
// a word of memory that all threads write to, and gives their time as well. It is read behind a
// fence, so that no core reads it before it has seen what the event rests on: if one thread's event
// is over before another's begins, and anything in memory says so, the first has fewer ticks. That
// is what the kernel's own clock rests on (Linux, lib/vdso), and where the kernel does not trust
// the counter it is not used: events are numbered by an atomic counter instead.
//
// Error: nanoseconds come from pairs of readings, each wrong by some 50 ns; see Scale. Ownership:
// values. Threads: Start once, the rest by all at any time. Errors: none. Units: ticks since the
// trace began, nanoseconds since then.
#ifndef VRAMSTOW_TRACER_CLOCK_H_
#define VRAMSTOW_TRACER_CLOCK_H_

#include <cstdint>

#if defined(__x86_64__)
#include <x86intrin.h>
#endif

namespace vramstow {

// After this time at most, a thread's chunk gets a new clock record.
inline constexpr uint64_t kAnchorNs = 50'000'000;
// And after this time at least.
inline constexpr uint64_t kFirstAnchorNs = 200'000;

// How many of the counter's lowest bits are left out. Some nanoseconds are a shorter time than
// Record takes, and much shorter than the path from one core to another, so they put nothing in
// order; but they look random, and what is random cannot be compressed.
#if defined(VRAMSTOW_COUNTER_SHIFT)
// For a program that runs many times as slowly as it should, under valgrind for example: the steps
// of time stay as short as they are otherwise.
inline constexpr unsigned kCounterShift = VRAMSTOW_COUNTER_SHIFT;
#elif defined(__x86_64__)
inline constexpr unsigned kCounterShift = 3;  // at 1 to 4 GHz: 2 to 8 ns
#else
inline constexpr unsigned kCounterShift = 0;
#endif

// The counter, as far as the calling thread has got: not before anything that it has read.
inline uint64_t ReadCounter() {
#if defined(__x86_64__)
  // LFENCE waits for all that comes before; RDTSC alone may be done early (Intel SDM, RDTSC).
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

// The counter without waiting: perhaps from before what was read last, but not from after what is
// written next. Only where loads are seen in the order of the program may this put anything in
// order, and only as single_writer.h says.
#if defined(__x86_64__)
inline constexpr bool kHasQuickCounter = true;
inline uint64_t ReadCounterQuickly() { return __rdtsc() >> kCounterShift; }
#else
inline constexpr bool kHasQuickCounter = false;
inline uint64_t ReadCounterQuickly() { return ReadCounter(); }
#endif

class TraceClock {
 public:
  // Sets time 0 to now. Without `may_use_counter` it is as if the kernel did not trust it.
  void Start(bool may_use_counter);

  // Whether ticks put events in order.
  bool counter_is_trusted() const { return counter_is_trusted_; }

  uint64_t Ticks() const { return ReadCounter() - start_counter_; }
  uint64_t QuickTicks() const { return ReadCounterQuickly() - start_counter_; }
  uint64_t Nanoseconds() const;

  uint64_t start_unix_ns() const { return start_unix_ns_; }
  uint64_t start_clock_ns() const { return start_clock_ns_; }

  struct Reading {
    uint64_t ticks;
    uint64_t time_ns;
  };
  // Both clocks at the same moment, as nearly as can be.
  Reading Read() const;

  // Nanoseconds per tick times 2^32, from the time since Start: wrong by 10^-7 after a second. How
  // long it may be relied upon is ValidTicks.
  static uint64_t Scale(const Reading& now);
  // As long again as the trace is old, within kFirstAnchorNs and kAnchorNs: so the error stays at
  // some 100 ns.
  static uint64_t ValidTicks(const Reading& now);
  // How many ticks so many nanoseconds are.
  static uint64_t TicksOf(uint64_t time_ns, const Reading& now);

 private:
  uint64_t start_unix_ns_ = 0;
  uint64_t start_clock_ns_ = 0;
  uint64_t start_counter_ = 0;
  bool counter_is_trusted_ = false;
};

}  // namespace vramstow

#endif  // VRAMSTOW_TRACER_CLOCK_H_
