#include "allocator/mutex.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace vramstow {
namespace {

// About as long as a hit holds the lock, a few times over.
constexpr int kSpins = 200;

void Relax() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

}  // namespace

void Mutex::LockSlow() {
  for (int i = 0; i < kSpins; ++i) {
    if (state_.load(std::memory_order_relaxed) == kFree && TryLock()) return;
    Relax();
  }
  while (state_.exchange(kAwaited, std::memory_order_acquire) != kFree) {
    syscall(SYS_futex, &state_, FUTEX_WAIT_PRIVATE, kAwaited, nullptr, nullptr, 0);
  }
}

void Mutex::Wake() { syscall(SYS_futex, &state_, FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0); }

}  // namespace vramstow
