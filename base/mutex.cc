#include "base/mutex.h"

#include "base/futex.h"

namespace vramstow {
namespace {

// A thread that finds the lock taken looks at it this many times before the thread sleeps. All
// these looks together take a few times as long as an allocation from cached memory. The pool holds
// its lock for the time of one such allocation, so most threads need not sleep.
constexpr int kSpins = 200;
// A sleeping thread looks again after this time, because it may miss a wake-up (mutex.h).
constexpr uint64_t kLongestSleepNs = 200'000;

void Relax() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

}  // namespace

void FastMutex::LockSlow() {
  for (int i = 0; i < kSpins; ++i) {
    if (state_.load(std::memory_order_relaxed) == kFree && TryLock()) return;
    Relax();
  }
  sleepers_.fetch_add(1, std::memory_order_seq_cst);
  while (!TryLock()) FutexWaitUpTo(&state_, kTaken, kLongestSleepNs);
  sleepers_.fetch_sub(1, std::memory_order_relaxed);
}

void FastMutex::Wake() { FutexWakeOne(&state_); }

}  // namespace vramstow
