#include "simulator/runtime/libraries/cupti/cupti_clock.h"

#include <algorithm>
#include <ctime>

namespace vramstow::simulator {
namespace {

// The shortest time for which a thread sleeps; a sleep for a shorter time is skipped.
constexpr int64_t kPaceNs = 50'000;
constexpr int64_t kSecondNs = 1'000'000'000;

int64_t HostNow() {
  timespec now = {};
  clock_gettime(CLOCK_REALTIME, &now);
  return static_cast<int64_t>(now.tv_sec) * kSecondNs + now.tv_nsec;
}

}  // namespace

CuptiClock& TheClock() {
  static auto* clock = new CuptiClock;
  return *clock;
}

void CuptiClock::UseClient(Callback callback) {
  const Pair pair = {HostNow(), callback()};
  const MutexLock lock(&mutex_);
  callback_ = callback;
  first_ = latest_ = pair;
}

uint64_t CuptiClock::Now() {
  const int64_t host = HostNow();
  const MutexLock lock(&mutex_);
  if (callback_ == nullptr) return static_cast<uint64_t>(host);
  latest_ = {host, callback_()};
  return latest_.client;
}

uint64_t CuptiClock::ToClient(int64_t host_ns) {
  const MutexLock lock(&mutex_);
  if (callback_ == nullptr) return static_cast<uint64_t>(host_ns);
  // If the interval between the two pairs of times is short, the rate between the two clocks is
  // inaccurate. So this code waits until the interval is long enough.
  constexpr int64_t kShortNs = 1'000'000;
  while (latest_.host_ns - first_.host_ns < kShortNs) {
    const int64_t now = HostNow();
    latest_ = {now, callback_()};
    if (now < first_.host_ns) first_ = latest_;  // the host's clock was set back
  }
  const auto ticks = static_cast<double>(latest_.client - first_.client);
  const double per_ns = ticks / static_cast<double>(latest_.host_ns - first_.host_ns);
  const double from_latest = static_cast<double>(host_ns - latest_.host_ns) * per_ns;
  return latest_.client + static_cast<uint64_t>(static_cast<int64_t>(from_latest));
}

int64_t CuptiClock::OffsetAt(uint64_t virtual_ns) {
  const int64_t offset = HostNow() - static_cast<int64_t>(virtual_ns);
  const MutexLock lock(&mutex_);
  offset_ns_ = has_offset_ ? std::max(offset_ns_, offset) : offset;
  has_offset_ = true;
  return offset_ns_;
}

void CuptiClock::Pace(uint64_t virtual_ns) {
  int64_t ahead = 0;
  {
    const MutexLock lock(&mutex_);
    if (!has_offset_) return;
    ahead = static_cast<int64_t>(virtual_ns) + offset_ns_ - HostNow();
  }
  if (ahead < kPaceNs) return;
  timespec pause = {ahead / kSecondNs, ahead % kSecondNs};
  while (nanosleep(&pause, &pause) != 0) {
  }
}

}  // namespace vramstow::simulator
