// Locks of the simulator, as clang's thread safety analysis knows them.
//
// Idea: std::mutex has no annotations in libstdc++, so what guards data here is a Mutex: a
// std::mutex with the names of base/thread_annotations.h. docs/architecture.md says what each lock
// guards and in which order they are taken.
//
// Ownership: the lock is where it is declared, and outlives who holds it. Threads: any. Errors:
// none. Units: none.
#ifndef VRAMSTOW_SIMULATOR_MUTEX_H_
#define VRAMSTOW_SIMULATOR_MUTEX_H_

#include <condition_variable>
#include <mutex>

#include "base/thread_annotations.h"

namespace vramstow::simulator {

class VRAMSTOW_CAPABILITY("mutex") Mutex {
 public:
  constexpr Mutex() = default;
  Mutex(const Mutex&) = delete;
  Mutex& operator=(const Mutex&) = delete;

  void Lock() VRAMSTOW_ACQUIRE() { mutex_.lock(); }
  bool TryLock() VRAMSTOW_TRY_ACQUIRE(true) { return mutex_.try_lock(); }
  void Unlock() VRAMSTOW_RELEASE() { mutex_.unlock(); }
  // For the analysis only: the caller's caller has taken the lock.
  void AssertHeld() const VRAMSTOW_ASSERT_HELD(this) {}

 private:
  friend class ConditionVariable;
  std::mutex mutex_;
};

// Holds a lock from here to the end of the scope.
class VRAMSTOW_SCOPED_CAPABILITY MutexLock {
 public:
  explicit MutexLock(Mutex* mutex) VRAMSTOW_ACQUIRE(mutex) : mutex_(mutex) { mutex_->Lock(); }
  ~MutexLock() VRAMSTOW_RELEASE() { mutex_->Unlock(); }
  MutexLock(const MutexLock&) = delete;
  MutexLock& operator=(const MutexLock&) = delete;

 private:
  Mutex* mutex_;
};

// Waiting gives the lock up, and takes it again before it returns. It may return without a reason.
class ConditionVariable {
 public:
  void Wait(Mutex* mutex) VRAMSTOW_REQUIRES(mutex) {
    std::unique_lock<std::mutex> lock(mutex->mutex_, std::adopt_lock);
    condition_.wait(lock);
    lock.release();
  }
  template <typename Time>
  void WaitUntil(Mutex* mutex, const Time& time) VRAMSTOW_REQUIRES(mutex) {
    std::unique_lock<std::mutex> lock(mutex->mutex_, std::adopt_lock);
    condition_.wait_until(lock, time);
    lock.release();
  }
  void NotifyAll() { condition_.notify_all(); }

 private:
  std::condition_variable condition_;
};

}  // namespace vramstow::simulator

#endif  // VRAMSTOW_SIMULATOR_MUTEX_H_
