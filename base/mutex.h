// Mutex: a lock of one word, for the fast path.
//
// Idea: taking a free lock is one atomic exchange and giving it back a plain store, half the cost
// of two exchanges; only a thread that finds it taken spins for a moment and then sleeps in the
// kernel (futex). The price of the plain store: it may be seen after the look for sleepers, so that
// a thread which goes to sleep in that very moment is not woken. So nobody sleeps for longer than
// kLongestSleepNs at a time (mutex.cc).
//
// Ownership: none; constant-initialised. Threads: that is its purpose; not recursive, not fair.
// Errors: none. After fork the child calls Reset on locks that another thread may have held.
#ifndef VRAMSTOW_ALLOCATOR_CORE_MUTEX_H_
#define VRAMSTOW_ALLOCATOR_CORE_MUTEX_H_

#include <atomic>
#include <cstdint>

#include "base/thread_annotations.h"

namespace vramstow {

class VRAMSTOW_CAPABILITY("mutex") Mutex {
 public:
  constexpr Mutex() = default;
  Mutex(const Mutex&) = delete;
  Mutex& operator=(const Mutex&) = delete;

  void Lock() VRAMSTOW_ACQUIRE() {
    uint32_t expected = kFree;
    if (!state_.compare_exchange_strong(expected, kTaken, std::memory_order_acquire)) LockSlow();
  }
  bool TryLock() VRAMSTOW_TRY_ACQUIRE(true) {
    uint32_t expected = kFree;
    return state_.compare_exchange_strong(expected, kTaken, std::memory_order_acquire);
  }
  void Unlock() VRAMSTOW_RELEASE() {
    state_.store(kFree, std::memory_order_release);
    if (sleepers_.load(std::memory_order_relaxed) != 0) Wake();
  }
  void Reset() {
    state_.store(kFree, std::memory_order_relaxed);
    sleepers_.store(0, std::memory_order_relaxed);
  }

  // Tells the analysis, where it cannot follow (inside a lambda), that the thread holds the lock.
  void AssertHeld() const VRAMSTOW_ASSERT_HELD(this) {}

 private:
  static constexpr uint32_t kFree = 0;
  static constexpr uint32_t kTaken = 1;

  // Takes the lock in a loop of TryLock, which the analysis does not follow.
  void LockSlow() VRAMSTOW_NO_LOCK_ANALYSIS;
  void Wake();

  std::atomic<uint32_t> state_{kFree};
  std::atomic<uint32_t> sleepers_{0};
};

// Holds a lock from construction to destruction.
class VRAMSTOW_SCOPED_CAPABILITY MutexLock {
 public:
  explicit MutexLock(Mutex* mutex) VRAMSTOW_ACQUIRE(mutex) : mutex_(mutex) { mutex_->Lock(); }
  ~MutexLock() VRAMSTOW_RELEASE() { mutex_->Unlock(); }
  MutexLock(const MutexLock&) = delete;
  MutexLock& operator=(const MutexLock&) = delete;

 private:
  Mutex* mutex_;
};

}  // namespace vramstow

#endif  // VRAMSTOW_ALLOCATOR_CORE_MUTEX_H_
