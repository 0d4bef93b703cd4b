// OwnerMutex is a small lock for code that runs inside a foreign process.
//
// Idea: one word contains the holder; threads wait by the kernel's futex. Unlike pthread_mutex_t,
// Lock refuses a thread that already holds the lock instead of waiting forever, because a signal
// handler may have interrupted the holder. The tracer takes this lock on slow paths only.
//
// The holder cannot be cancelled (pthread_cancel). Otherwise a thread that ends in a system call
// under the lock would block all others for ever.
//
// Ownership: none. Threads: any; Lock may be called in a signal handler. Errors: see Lock. No heap,
// no destructor work. After a fork the child must Reset it first.
#ifndef VRAMSTOW_TRACER_OWNER_MUTEX_H_
#define VRAMSTOW_TRACER_OWNER_MUTEX_H_

#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>

#include "base/thread_annotations.h"

namespace vramstow {

class VRAMSTOW_CAPABILITY("mutex") OwnerMutex {
 public:
  constexpr OwnerMutex() = default;
  OwnerMutex(const OwnerMutex&) = delete;
  OwnerMutex& operator=(const OwnerMutex&) = delete;

  // Waits until the lock is free and takes it. `me` is an address that only this thread passes; it
  // is a multiple of 2. Returns false, without waiting, if the thread `me` holds the lock already.
  // Also returns false if it was not woken for `longest_wait`. A caller that may hold another lock,
  // because it is a signal handler, must give such a time unless the holder never needs that lock.
  [[nodiscard]] bool Lock(const void* me, const timespec* longest_wait = nullptr)
      VRAMSTOW_TRY_ACQUIRE(true) {
    if (!Take(reinterpret_cast<uintptr_t>(me), longest_wait)) return false;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel_state_);
    return true;
  }

  void Unlock() VRAMSTOW_RELEASE() {
    const int cancel_state = cancel_state_;
    if ((word_.exchange(0, std::memory_order_release) & kWaiters) != 0) {
      syscall(SYS_futex, FutexWord(), FUTEX_WAKE_PRIVATE, 1);
    }
    int ignored;
    pthread_setcancelstate(cancel_state, &ignored);
  }

  // Resets the lock. Called in a forked child, whose only thread does not hold the lock.
  void Reset() { word_.store(0, std::memory_order_relaxed); }

 private:
  static constexpr uint64_t kWaiters = 1;

  bool Take(uint64_t holder, const timespec* longest_wait) {
    uint64_t seen = 0;
    if (word_.compare_exchange_strong(seen, holder, std::memory_order_acquire)) return true;
    for (;;) {
      if ((seen & ~kWaiters) == holder) return false;
      if (seen == 0) {
        // Other threads may still be waiting, so the bit that marks waiting threads is set, too.
        if (word_.compare_exchange_weak(seen, holder | kWaiters, std::memory_order_acquire)) {
          return true;
        }
        continue;
      }
      if ((seen & kWaiters) == 0 &&
          !word_.compare_exchange_weak(seen, seen | kWaiters, std::memory_order_relaxed)) {
        continue;
      }
      const long result = syscall(SYS_futex, FutexWord(), FUTEX_WAIT_PRIVATE,
                                  static_cast<uint32_t>(seen | kWaiters), longest_wait);
      if (result != 0 && errno == ETIMEDOUT) return false;
      seen = word_.load(std::memory_order_relaxed);
    }
  }

  // Returns the address for the futex. A futex has 32 bits, so it is the low half of the word,
  // which contains the bit for waiting threads.
  uint32_t* FutexWord() { return reinterpret_cast<uint32_t*>(&word_); }

  std::atomic<uint64_t> word_{0};  // the holder, and kWaiters
  int cancel_state_ = 0;           // the holder's, before it took the lock
};

}  // namespace vramstow

#endif  // VRAMSTOW_TRACER_OWNER_MUTEX_H_
