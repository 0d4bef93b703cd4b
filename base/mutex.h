// The locks of all parts of vramstow, with annotations for clang's thread-safety analysis.
//
// Idea: std::mutex has no annotations in libstdc++. docs/contracts.md says what each lock guards
// and in which order locks are taken.
// - Mutex: a thread that finds it locked sleeps until it is free.
// - FastMutex: one word, for the fast path. Locking takes one atomic exchange and unlocking one
//   plain store, half the cost of two exchanges; a thread that finds it locked spins for a moment
//   and then sleeps in the kernel (futex). The plain store has a price: it may become visible
//   after the check for sleeping threads, so that a thread that goes to sleep at that moment is not
//   woken. So no thread sleeps longer than kLongestSleepNs at a time (mutex.cc).
// - SpinLock: for a few instructions at a time. No function is called while it is held.
// - MutexLock: holds one of these locks until the end of the scope.
//
// Ownership: none; constant-initialised. Threads: any; the locks are neither recursive nor fair.
// Errors: none. Units: nanoseconds. After a fork the child calls Reset on each FastMutex that
// another thread may have held.
#ifndef VRAMSTOW_BASE_MUTEX_H_
#define VRAMSTOW_BASE_MUTEX_H_

#include <pthread.h>
#include <sched.h>
#include <time.h>

#include <atomic>
#include <cstdint>

#include "base/thread_annotations.h"

namespace vramstow {

class VRAMSTOW_CAPABILITY("mutex") Mutex {
 public:
  constexpr Mutex() = default;
  Mutex(const Mutex&) = delete;
  Mutex& operator=(const Mutex&) = delete;

  void Lock() VRAMSTOW_ACQUIRE() { pthread_mutex_lock(&mutex_); }
  bool TryLock() VRAMSTOW_TRY_ACQUIRE(true) { return pthread_mutex_trylock(&mutex_) == 0; }
  void Unlock() VRAMSTOW_RELEASE() { pthread_mutex_unlock(&mutex_); }

  // Asserts to the analysis that the thread holds the lock, where the analysis cannot follow the
  // code (inside a lambda).
  void AssertHeld() const VRAMSTOW_ASSERT_HELD(this) {}

 private:
  friend class ConditionVariable;
  pthread_mutex_t mutex_ = PTHREAD_MUTEX_INITIALIZER;
};

// A condition variable for Mutex. Wait releases the lock, and locks it again before it returns. It
// may return without a notification.
class ConditionVariable {
 public:
  constexpr ConditionVariable() = default;
  ConditionVariable(const ConditionVariable&) = delete;
  ConditionVariable& operator=(const ConditionVariable&) = delete;

  void Wait(Mutex* mutex) VRAMSTOW_REQUIRES(mutex) {
    pthread_cond_wait(&condition_, &mutex->mutex_);
  }
  // Waits until a notification, but at most for `duration_ns`. It may return without a
  // notification.
  void WaitFor(Mutex* mutex, uint64_t duration_ns) VRAMSTOW_REQUIRES(mutex) {
    constexpr uint64_t kSecond = 1'000'000'000;
    timespec until = {};
    clock_gettime(CLOCK_REALTIME, &until);
    const uint64_t ns = static_cast<uint64_t>(until.tv_nsec) + duration_ns;
    until.tv_sec += static_cast<time_t>(ns / kSecond);
    until.tv_nsec = static_cast<decltype(until.tv_nsec)>(ns % kSecond);
    pthread_cond_timedwait(&condition_, &mutex->mutex_, &until);
  }
  void NotifyAll() { pthread_cond_broadcast(&condition_); }

 private:
  pthread_cond_t condition_ = PTHREAD_COND_INITIALIZER;
};

class VRAMSTOW_CAPABILITY("mutex") FastMutex {
 public:
  constexpr FastMutex() = default;
  FastMutex(const FastMutex&) = delete;
  FastMutex& operator=(const FastMutex&) = delete;

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

  // Asserts to the analysis that the thread holds the lock, as Mutex::AssertHeld does.
  void AssertHeld() const VRAMSTOW_ASSERT_HELD(this) {}

 private:
  static constexpr uint32_t kFree = 0;
  static constexpr uint32_t kTaken = 1;

  // Locks in a loop of TryLock, which the analysis cannot follow.
  void LockSlow() VRAMSTOW_NO_LOCK_ANALYSIS;
  void Wake();

  std::atomic<uint32_t> state_{kFree};
  std::atomic<uint32_t> sleepers_{0};
};

class VRAMSTOW_CAPABILITY("mutex") SpinLock {
 public:
  constexpr SpinLock() = default;
  SpinLock(const SpinLock&) = delete;
  SpinLock& operator=(const SpinLock&) = delete;

  void Lock() VRAMSTOW_ACQUIRE() {
    while (flag_.exchange(true, std::memory_order_acquire)) {
      while (flag_.load(std::memory_order_relaxed)) sched_yield();
    }
  }
  void Unlock() VRAMSTOW_RELEASE() { flag_.store(false, std::memory_order_release); }

 private:
  std::atomic<bool> flag_{false};
};

template <typename Lockable>
class VRAMSTOW_SCOPED_CAPABILITY MutexLock {
 public:
  explicit MutexLock(Lockable* mutex) VRAMSTOW_ACQUIRE(mutex) : mutex_(mutex) { mutex_->Lock(); }
  ~MutexLock() VRAMSTOW_RELEASE() { mutex_->Unlock(); }
  MutexLock(const MutexLock&) = delete;
  MutexLock& operator=(const MutexLock&) = delete;

 private:
  Lockable* const mutex_;
};

}  // namespace vramstow

#endif  // VRAMSTOW_BASE_MUTEX_H_
