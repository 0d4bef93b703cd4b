// The locks of all rooms, as clang's thread-safety analysis knows them.
//
// Idea: std::mutex has no annotations in libstdc++. docs/architecture.md says what each lock guards
// and in which order they are taken.
// - Mutex: whoever finds it taken sleeps until it is free.
// - FastMutex: one word, for the fast path. Taking a free one is one atomic exchange and giving it
//   back a plain store, half the cost of two exchanges; only a thread that finds it taken spins for
//   a moment and then sleeps in the kernel (futex). The price of the plain store: it may be seen
//   after the look for sleepers, so that a thread which goes to sleep in that very moment is not
//   woken. So nobody sleeps for longer than kLongestSleepNs at a time (mutex.cc).
// - SpinLock: for a few instructions at a time. Nothing is called while it is held.
// - MutexLock: holds one of them to the end of the scope.
//
// Ownership: none; constant-initialised. Threads: that is their purpose; not recursive, not fair.
// Errors: none. Units: nanoseconds. After fork the child calls Reset on each FastMutex that another
// thread may have held.
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

  // Tells the analysis, where it cannot follow (inside a lambda), that the thread holds the lock.
  void AssertHeld() const VRAMSTOW_ASSERT_HELD(this) {}

 private:
  friend class ConditionVariable;
  pthread_mutex_t mutex_ = PTHREAD_MUTEX_INITIALIZER;
};

// Waiting gives the lock up, and takes it again before it returns. It may return without a reason.
class ConditionVariable {
 public:
  constexpr ConditionVariable() = default;
  ConditionVariable(const ConditionVariable&) = delete;
  ConditionVariable& operator=(const ConditionVariable&) = delete;

  void Wait(Mutex* mutex) VRAMSTOW_REQUIRES(mutex) {
    pthread_cond_wait(&condition_, &mutex->mutex_);
  }
  // At most so long.
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

  // The analysis is told as by Mutex.
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
