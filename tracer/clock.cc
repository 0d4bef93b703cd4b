#include "tracer/clock.h"

#include <fcntl.h>
#include <time.h>
#include <unistd.h>

#include <cstring>

namespace vramstow {
namespace {

uint64_t Nanoseconds(clockid_t clock) {
  timespec now;
  clock_gettime(clock, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000u + static_cast<uint64_t>(now.tv_nsec);
}

// Whether the processors' counters run at one constant speed and agree with each other. On x86 the
// kernel watches over that and drops the counter as its own clock when it is not so.
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
  return true;  // the architecture says so
#else
  return false;
#endif
}

}  // namespace

void TraceClock::Start() {
  start_clock_ns_ = 0;
  const Reading reading = Read();
  start_unix_ns_ = Nanoseconds(CLOCK_REALTIME);
  start_clock_ns_ = reading.time_ns;
  start_counter_ = reading.counter;
  counter_is_steady_.store(KernelTrustsCounter(), std::memory_order_relaxed);
}

TraceClock::Reading TraceClock::Read() const {
  Reading best = {};
  uint64_t best_width = ~uint64_t{0};
  // Three tries: the thread may be interrupted between the two clocks.
  for (int i = 0; i < 3; ++i) {
    const uint64_t before = ReadCounter();
    const uint64_t time_ns = Nanoseconds(CLOCK_MONOTONIC);
    const uint64_t width = ReadCounter() - before;
    if (width >= best_width) continue;
    best_width = width;
    best.counter = before + width / 2;
    best.time_ns = time_ns;
  }
  best.time_ns -= start_clock_ns_;
  return best;
}

uint64_t TraceClock::Scale(const Reading& now) {
  if (!counter_is_steady_.load(std::memory_order_relaxed)) return 0;
  if (now.time_ns < kCalibrationNs) return 0;
  const uint64_t ticks = now.counter - start_counter_;
  __extension__ using Wide = unsigned __int128;
  const Wide scale = ticks == 0 ? 0 : (Wide{now.time_ns} << 32) / ticks;
  const uint64_t last = last_scale_.load(std::memory_order_relaxed);
  // A machine that slept or moved may have set its counter anew. One part in a thousand is ten
  // times what the shortest calibration may be wrong by.
  const bool plausible = scale > 0 && scale < (Wide{1} << 40);
  const bool steady = last == 0 || (scale > last - last / 1000 && scale < last + last / 1000);
  if (!plausible || !steady) {
    StopUsingCounter();
    return 0;
  }
  last_scale_.store(static_cast<uint64_t>(scale), std::memory_order_relaxed);
  return static_cast<uint64_t>(scale);
}

uint64_t ThreadClock::SetAnchor(TraceClock* clock) {
  const TraceClock::Reading now = clock->Read();
  anchor_counter_ = now.counter;
  anchor_ns_ = now.time_ns;
  scale_ = clock->Scale(now);
  __extension__ using Wide = unsigned __int128;
  valid_ticks_ = scale_ == 0 ? 0 : static_cast<uint64_t>((Wide{kAnchorNs} << 32) / scale_);
  return now.time_ns;
}

}  // namespace vramstow
