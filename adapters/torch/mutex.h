// Mutex and SpinLock: locks whose holders clang's thread-safety analysis can check.
//
// Idea: std::mutex has no annotations in libstdc++, so it is wrapped here. g++ sees plain locks.
//
// Ownership: values. Threads: any. Errors: none. Units: none.
#ifndef VRAMSTOW_ADAPTERS_TORCH_MUTEX_H_
#define VRAMSTOW_ADAPTERS_TORCH_MUTEX_H_

#include <atomic>
#include <mutex>
#include <thread>

#include "base/thread_annotations.h"

namespace vramstow::torch_adapter {

class VRAMSTOW_CAPABILITY("mutex") Mutex {
 public:
  void Lock() VRAMSTOW_ACQUIRE() { mutex_.lock(); }
  void Unlock() VRAMSTOW_RELEASE() { mutex_.unlock(); }

 private:
  std::mutex mutex_;
};

// For a few instructions at a time. Nothing is called while it is held.
class VRAMSTOW_CAPABILITY("mutex") SpinLock {
 public:
  void Lock() VRAMSTOW_ACQUIRE() {
    while (flag_.exchange(true, std::memory_order_acquire)) {
      while (flag_.load(std::memory_order_relaxed)) std::this_thread::yield();
    }
  }
  void Unlock() VRAMSTOW_RELEASE() { flag_.store(false, std::memory_order_release); }

 private:
  std::atomic<bool> flag_{false};
};

// Holds a lock from construction to destruction.
template <typename Lockable>
class VRAMSTOW_SCOPED_CAPABILITY LockHolder {
 public:
  explicit LockHolder(Lockable* lock) VRAMSTOW_ACQUIRE(lock) : lock_(lock) { lock_->Lock(); }
  ~LockHolder() VRAMSTOW_RELEASE() { lock_->Unlock(); }
  LockHolder(const LockHolder&) = delete;
  LockHolder& operator=(const LockHolder&) = delete;

 private:
  Lockable* const lock_;
};

using MutexLock = LockHolder<Mutex>;
using SpinLockHolder = LockHolder<SpinLock>;

}  // namespace vramstow::torch_adapter

#endif  // VRAMSTOW_ADAPTERS_TORCH_MUTEX_H_
