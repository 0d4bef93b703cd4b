#include "allocator/offload/gate.h"

#include <cerrno>

#include "base/futex.h"
#include "base/monotonic_clock.h"

namespace vramstow {
namespace {

constexpr uint64_t kPauseNs = 20'000;
// A sleeping thread looks again after this time even if nothing wakes it.
constexpr uint64_t kLongestSleepNs = 10'000'000;

}  // namespace

void SubmissionGate::EnterSlow(std::atomic<uint32_t>* inside) {
  const int saved = errno;
  do {
    inside->fetch_sub(1, std::memory_order_seq_cst);
    while (closed_.load(std::memory_order_seq_cst) != 0) {
      FutexWaitUpTo(&closed_, 1, kLongestSleepNs);
    }
    inside->fetch_add(1, std::memory_order_seq_cst);
  } while (closed_.load(std::memory_order_seq_cst) != 0);
  errno = saved;
}

bool SubmissionGate::Close(uint64_t wait_ns, const std::atomic<bool>* stop) {
  const uint64_t deadline_ns = MonotonicTime() + wait_ns;
  uint32_t open = 0;
  if (!closed_.compare_exchange_strong(open, 1, std::memory_order_seq_cst)) return false;
  for (const Lane& lane : lanes_) {
    while (lane.inside.load(std::memory_order_seq_cst) != 0) {
      const bool stops = stop != nullptr && stop->load(std::memory_order_relaxed);
      if (stops || waiting_.load(std::memory_order_relaxed) != 0 ||
          MonotonicTime() >= deadline_ns) {
        Open();
        return false;
      }
      SleepFor(kPauseNs);
    }
  }
  return true;
}

void SubmissionGate::Open() {
  closed_.store(0, std::memory_order_seq_cst);
  FutexWakeAll(&closed_);
}

void SubmissionGate::Reset() {
  closed_.store(0, std::memory_order_relaxed);
  waiting_.store(0, std::memory_order_relaxed);
  for (Lane& lane : lanes_) lane.inside.store(0, std::memory_order_relaxed);
}

}  // namespace vramstow
