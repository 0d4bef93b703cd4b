// DeviceMutex: the lock of one pool's device. It guards the chunks, the addresses and the pressure
// ladder.
//
// Idea: functions in all folders of the allocator declare that they need this lock
// (VRAMSTOW_REQUIRES(kDeviceLock)). They do not know the pool that owns the lock, and no thread
// holds the locks of two pools at once; so clang's thread-safety analysis uses one name for the
// locks of all pools.
//
// Ownership: none. Threads: as FastMutex. Errors: none.
#ifndef VRAMSTOW_ALLOCATOR_CORE_DEVICE_LOCK_H_
#define VRAMSTOW_ALLOCATOR_CORE_DEVICE_LOCK_H_

#include "base/mutex.h"
#include "base/thread_annotations.h"

namespace vramstow {

// The capability that stands for the device's lock in the thread-safety analysis. It has no state:
// the thread that holds the lock has the capability.
class VRAMSTOW_CAPABILITY("device lock") DeviceRight {
 public:
  // Asserts to the analysis that the thread has the capability, where the analysis cannot follow
  // the code (inside a lambda).
  void AssertHeld() const VRAMSTOW_ASSERT_HELD(this) {}
};
inline constexpr DeviceRight kDeviceLock;

class DeviceMutex {
 public:
  // The analysis sees only the capability, not the mutex behind it.
  void Lock() VRAMSTOW_ACQUIRE(kDeviceLock) VRAMSTOW_NO_LOCK_ANALYSIS { mutex_.Lock(); }
  bool TryLock() VRAMSTOW_TRY_ACQUIRE(true, kDeviceLock) VRAMSTOW_NO_LOCK_ANALYSIS {
    return mutex_.TryLock();
  }
  void Unlock() VRAMSTOW_RELEASE(kDeviceLock) VRAMSTOW_NO_LOCK_ANALYSIS { mutex_.Unlock(); }

 private:
  FastMutex mutex_;
};

// Holds a device's lock from construction to destruction.
class VRAMSTOW_SCOPED_CAPABILITY DeviceLock {
 public:
  explicit DeviceLock(DeviceMutex* mutex) VRAMSTOW_ACQUIRE(kDeviceLock) : mutex_(mutex) {
    mutex_->Lock();
  }
  ~DeviceLock() VRAMSTOW_RELEASE() { mutex_->Unlock(); }
  DeviceLock(const DeviceLock&) = delete;
  DeviceLock& operator=(const DeviceLock&) = delete;

 private:
  DeviceMutex* mutex_;
};

}  // namespace vramstow

#endif  // VRAMSTOW_ALLOCATOR_CORE_DEVICE_LOCK_H_
