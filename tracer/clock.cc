#include "tracer/clock.h"

#include <fcntl.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

namespace vramstow {
namespace {

uint64_t Now(clockid_t clock) {
  timespec now;
  clock_gettime(clock, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000u + static_cast<uint64_t>(now.tv_nsec);
}

// True if the processors' counters run at one constant speed and agree with each other. On x86 the
// kernel checks this, and stops using the counter as its own clock if the check fails.
bool KernelTrustsCounter() {
#if defined(__x86_64__)
  char name[16] = {};
  const int fd = open("/sys/devices/system/clocksource/clocksource0/current_clocksource",
                      O_RDONLY | O_CLOEXEC);
  if (fd < 0) return false;
  const ssize_t length = read(fd, name, sizeof name - 1);
  close(fd);
  return length >= 4 && std::memcmp(name, "tsc\n", 4) == 0;
#elif defined(__aarch64__)
  // The architecture guarantees that the counters agree. But one step of the counter must also be
  // shorter than the time that a signal needs from one core to another. Otherwise two events, one
  // of which depends on the other, could read the same value.
  constexpr uint64_t kLeastHertz = 500'000'000;
  uint64_t hertz;
  asm volatile("mrs %0, cntfrq_el0" : "=r"(hertz));
  return hertz >= kLeastHertz;
#else
  return false;
#endif
}

}  // namespace

void TraceClock::Start(bool may_use_counter) {
  start_clock_ns_ = start_counter_ = 0;
  const Reading reading = Read();
  start_unix_ns_ = Now(CLOCK_REALTIME);
  start_clock_ns_ = reading.time_ns;
  start_counter_ = reading.ticks;
  counter_is_trusted_ = may_use_counter && KernelTrustsCounter();
}

uint64_t TraceClock::Nanoseconds() const { return Now(CLOCK_MONOTONIC) - start_clock_ns_; }

TraceClock::Reading TraceClock::Read() const {
  Reading best = {};
  uint64_t best_width = ~uint64_t{0};
  // The two clocks are read three times, because the thread may be interrupted between the two
  // reads.
  for (int i = 0; i < 3; ++i) {
    const uint64_t before = ReadCounter();
    const uint64_t time_ns = Now(CLOCK_MONOTONIC);
    const uint64_t width = ReadCounter() - before;
    if (width >= best_width) continue;
    best_width = width;
    best.ticks = before + width / 2;
    best.time_ns = time_ns;
  }
  best.ticks -= start_counter_;
  best.time_ns -= start_clock_ns_;
  if (IsReset(best.ticks)) return {TicksAfterReset(), best.time_ns};
  scale_.store(Scale(best), std::memory_order_relaxed);
  return best;
}

// Moves the beginning of the counter such that the ticks fit to the kernel's clock, by the speed
// that was measured last. One thread does so, and all threads see it.
uint64_t TraceClock::TicksAfterReset() const {
  // The ticks must be later than all earlier ones, which the inaccurate speed does not ensure.
  constexpr uint64_t kMarginNs = 1'000'000;
  __extension__ using Wide = unsigned __int128;
  const std::atomic_ref<uint64_t> start(start_counter_);
  uint64_t before = start.load(std::memory_order_relaxed);
  const uint64_t scale = std::max<uint64_t>(scale_.load(std::memory_order_relaxed), 1);
  const Wide ticks = (Wide{Nanoseconds() + kMarginNs} << 32) / scale;
  const uint64_t counter = ReadCounter();
  if (IsReset(counter - before)) {
    start.compare_exchange_strong(before, counter - static_cast<uint64_t>(ticks),
                                  std::memory_order_relaxed);
  }
  const uint64_t now = ReadCounter() - start.load(std::memory_order_relaxed);
  return IsReset(now) ? 0 : now;
}

uint64_t TraceClock::Scale(const Reading& now) {
  __extension__ using Wide = unsigned __int128;
  const Wide scale = now.ticks == 0 ? 0 : (Wide{now.time_ns} << 32) / now.ticks;
  return static_cast<uint64_t>(std::min(scale, Wide{1} << 40));
}

uint64_t TraceClock::ValidTicks(const Reading& now) {
  return TicksOf(std::clamp(now.time_ns, kFirstAnchorNs, kAnchorNs), now);
}

uint64_t TraceClock::TicksOf(uint64_t time_ns, const Reading& now) {
  __extension__ using Wide = unsigned __int128;
  const uint64_t scale = std::max<uint64_t>(Scale(now), 1);
  return static_cast<uint64_t>((Wide{time_ns} << 32) / scale);
}

}  // namespace vramstow
