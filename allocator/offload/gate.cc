#include "allocator/offload/gate.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>

namespace vramstow {
namespace {

constexpr long kPauseNs = 20'000;
// A sleeping thread looks again after this time even if nothing wakes it.
constexpr long kLongestSleepNs = 10'000'000;

uint64_t Now() {
  timespec time{};
  clock_gettime(CLOCK_MONOTONIC, &time);
  return static_cast<uint64_t>(time.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(time.tv_nsec);
}

}  // namespace

void SubmissionGate::EnterSlow(std::atomic<uint32_t>* inside) {
  const int saved = errno;
  do {
    inside->fetch_sub(1, std::memory_order_seq_cst);
    const timespec most{0, kLongestSleepNs};
    while (closed_.load(std::memory_order_seq_cst) != 0) {
      syscall(SYS_futex, &closed_, FUTEX_WAIT_PRIVATE, 1, &most, nullptr, 0);
    }
    inside->fetch_add(1, std::memory_order_seq_cst);
  } while (closed_.load(std::memory_order_seq_cst) != 0);
  errno = saved;
}

bool SubmissionGate::Close(uint64_t wait_ns, const std::atomic<bool>* stop) {
  const uint64_t deadline_ns = Now() + wait_ns;
  uint32_t open = 0;
  if (!closed_.compare_exchange_strong(open, 1, std::memory_order_seq_cst)) return false;
  for (const Lane& lane : lanes_) {
    while (lane.inside.load(std::memory_order_seq_cst) != 0) {
      const bool stops = stop != nullptr && stop->load(std::memory_order_relaxed);
      if (stops || waiting_.load(std::memory_order_relaxed) != 0 || Now() >= deadline_ns) {
        Open();
        return false;
      }
      const timespec pause{0, kPauseNs};
      nanosleep(&pause, nullptr);
    }
  }
  return true;
}

void SubmissionGate::Open() {
  closed_.store(0, std::memory_order_seq_cst);
  syscall(SYS_futex, &closed_, FUTEX_WAKE_PRIVATE, 0x7fffffff, nullptr, nullptr, 0);
}

void SubmissionGate::Reset() {
  closed_.store(0, std::memory_order_relaxed);
  waiting_.store(0, std::memory_order_relaxed);
  for (Lane& lane : lanes_) lane.inside.store(0, std::memory_order_relaxed);
}

}  // namespace vramstow
