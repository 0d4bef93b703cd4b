// Registrations handles memory of pools that a library registers with a network adapter without a
// call of the driver.
//
// Idea: the adapter stores the physical addresses of the memory. So before the library is called,
// the range is restored to the device, and its chunks are pinned there. They are unpinned when the
// registration has failed or ended. Pinned chunks are not moved, even if their block is freed. If
// the pool has been closed before the registration ends, there is nothing to unpin.
//
// Ownership: static storage. Threads: any that is not about to submit work. Errors: Hold returns
// false if memory cannot be restored to the device, and logs it. errno is preserved. Units: bytes.
#ifndef VRAMSTOW_INTERPOSE_CORE_POOLS_REGISTRATIONS_H_
#define VRAMSTOW_INTERPOSE_CORE_POOLS_REGISTRATIONS_H_

#include <atomic>
#include <cstddef>

#include "interpose/core/pools/registration_table.h"
#include "interpose/core/runtime/core.h"

namespace vramstow {

class Registrations {
 public:
  constexpr Registrations(Pools& pools, RegistrationTable& table) : pools_(pools), table_(table) {}
  Registrations(const Registrations&) = delete;
  Registrations& operator=(const Registrations&) = delete;

  // Pins the range; called before the library registers it. Returns false if the library must not
  // be called. *held has size 0 for memory outside the pools.
  bool Hold(const void* address, size_t size, HeldRange* held);
  // Stores the range under the handle that the library returned. If the handle is null, or the
  // table is full, the range stays pinned for good.
  void Keep(const void* handle, const HeldRange& held);
  // Removes and returns the range that Keep stored; called before the library ends the
  // registration.
  HeldRange Take(const void* handle);
  // Unpins the range; called when the registration has failed or ended.
  void Release(const HeldRange& held);

 private:
  Pools& pools_;
  RegistrationTable& table_;
  std::atomic<bool> logged_full_{false};
};

}  // namespace vramstow

#endif  // VRAMSTOW_INTERPOSE_CORE_POOLS_REGISTRATIONS_H_
