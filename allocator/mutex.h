// Mutex: a lock of one word, for the fast path.
//
// Idea: taking a free lock is one atomic exchange and giving it back one atomic exchange; only a
// thread that finds it taken spins for a moment and then sleeps in the kernel (futex). After
// U. Drepper, "Futexes are tricky" (2011), the second mutex.
//
// Ownership: none; constant-initialised. Threads: that is its purpose; not recursive, not fair.
// Errors: none. After fork the child calls Reset on locks that another thread may have held.
#ifndef VRAMSTOW_ALLOCATOR_MUTEX_H_
#define VRAMSTOW_ALLOCATOR_MUTEX_H_

#include <atomic>
#include <cstdint>

namespace vramstow {

class Mutex {
 public:
  constexpr Mutex() = default;
  Mutex(const Mutex&) = delete;
  Mutex& operator=(const Mutex&) = delete;

  void Lock() {
    uint32_t expected = kFree;
    if (!state_.compare_exchange_strong(expected, kTaken, std::memory_order_acquire)) LockSlow();
  }
  bool TryLock() {
    uint32_t expected = kFree;
    return state_.compare_exchange_strong(expected, kTaken, std::memory_order_acquire);
  }
  void Unlock() {
    if (state_.exchange(kFree, std::memory_order_release) == kAwaited) Wake();
  }
  void Reset() { state_.store(kFree, std::memory_order_relaxed); }

 private:
  static constexpr uint32_t kFree = 0;
  static constexpr uint32_t kTaken = 1;
  static constexpr uint32_t kAwaited = 2;  // taken, and somebody sleeps

  void LockSlow();
  void Wake();

  std::atomic<uint32_t> state_{kFree};
};

class MutexLock {
 public:
  explicit MutexLock(Mutex* mutex) : mutex_(mutex) { mutex_->Lock(); }
  ~MutexLock() { mutex_->Unlock(); }
  MutexLock(const MutexLock&) = delete;
  MutexLock& operator=(const MutexLock&) = delete;

 private:
  Mutex* mutex_;
};

}  // namespace vramstow

#endif  // VRAMSTOW_ALLOCATOR_MUTEX_H_
