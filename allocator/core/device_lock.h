// DeviceMutex: the lock of one pool's device: its chunks, its addresses and its pressure ladder.
//
// Idea: functions of every room say that they need this lock (VRAMSTOW_REQUIRES(kDeviceLock)). They
// do not know the pool whose lock it is, and no thread holds those of two pools at once; so the
// analysis knows one name for all of them.
//
// Ownership: none. Threads: as FastMutex. Errors: none.
#ifndef VRAMSTOW_ALLOCATOR_CORE_DEVICE_LOCK_H_
#define VRAMSTOW_ALLOCATOR_CORE_DEVICE_LOCK_H_

#include "base/mutex.h"
#include "base/thread_annotations.h"

namespace vramstow {

// The right to do what needs the device's lock. It has no state: whoever holds the lock has it.
class VRAMSTOW_CAPABILITY("device lock") DeviceRight {
 public:
  // Tells the analysis, where it cannot follow (inside a lambda), that the thread has the right.
  void AssertHeld() const VRAMSTOW_ASSERT_HELD(this) {}
};
inline constexpr DeviceRight kDeviceLock;

class DeviceMutex {
 public:
  // The analysis sees the right given, not the mutex behind it.
  void Lock() VRAMSTOW_ACQUIRE(kDeviceLock) VRAMSTOW_NO_LOCK_ANALYSIS { mutex_.Lock(); }
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
