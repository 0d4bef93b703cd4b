// DeviceReach knows which devices the program uses, and which of them can access each other's
// memory.
//
// Idea: the driver lets every context copy and fill memory of cuMemAlloc, but mapped memory (as the
// pool's) only if the context's device may access it. So devices that the program uses get access
// to the pools, and calls of the others are made elsewhere (handlers/work_elsewhere.h).
//
// Ownership: a part of Pools. Threads: any, without a lock. Errors: a device counts as reachable if
// the driver does not answer. Units: device numbers; sets of devices have one bit for each.
#ifndef VRAMSTOW_INTERPOSE_CORE_POOLS_DEVICE_REACH_H_
#define VRAMSTOW_INTERPOSE_CORE_POOLS_DEVICE_REACH_H_

#include <atomic>
#include <cstdint>

#include "interpose/core/runtime/core.h"

namespace vramstow {

class DeviceReach {
 public:
  static constexpr int kMaxDevices = 64;

  explicit constexpr DeviceReach(const Driver& driver) : driver_(driver) {}
  DeviceReach(const DeviceReach&) = delete;
  DeviceReach& operator=(const DeviceReach&) = delete;

  // Notes that the program has a context of the device. Returns true if it is the first one.
  bool NoteUsed(int device);
  // Returns the set of devices that have, or had, a context; all devices for `all`.
  uint64_t UsedDevices(bool all) const;
  // True if the driver can give the device access to the memory of the other one.
  bool CanAccess(int by_device, int owner) const;

  // Finds the devices that cannot access the memory of this device. It runs before the pool serves
  // its first block, so before the program can copy memory of the pool.
  void LookForApart(int device);
  // True if some device cannot access the memory of some pool.
  bool has_unreachable_peers() const {
    return has_unreachable_peers_.load(std::memory_order_relaxed);
  }
  // True if these two devices cannot access each other's memory.
  bool CannotReach(int device, int other) const;

  // Forgets the contexts of the parent; called in a forked child.
  void AbandonAfterFork() { used_devices_.store(0, std::memory_order_relaxed); }

 private:
  const Driver& driver_;
  std::atomic<uint64_t> used_devices_{0};
  // For each device, the set of the devices that cannot access its memory.
  std::atomic<uint64_t> apart_[kMaxDevices] = {};
  std::atomic<bool> has_unreachable_peers_{false};
};

}  // namespace vramstow

#endif  // VRAMSTOW_INTERPOSE_CORE_POOLS_DEVICE_REACH_H_
