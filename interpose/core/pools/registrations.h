// Registrations: memory of pools that a library registers with a network card, past the driver.
//
// Idea: the card knows the memory by what lies behind its address. So the range is brought to the
// device and its chunks are held there before the library is asked, and let go of when it has said
// that the registration failed or has ended. The chunks stay meanwhile, also when their block is
// freed. A pool that ended meanwhile has nothing to let go of.
//
// Ownership: static storage. Threads: any that is not about to submit work. Errors: Hold says when
// memory cannot be brought to the device, and that is logged. errno is kept. Units: bytes.
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

  // Before the library is asked. False: it must not be asked. *held has size 0 for memory that is
  // no pool's.
  bool Hold(const void* address, size_t size, HeldRange* held);
  // The library gave this handle. Null, or more than can be remembered: held for good.
  void Keep(const void* handle, const HeldRange& held);
  // The range that Keep was told of, before the library is asked to end it.
  HeldRange Take(const void* handle);
  // It failed, or has ended.
  void Release(const HeldRange& held);

 private:
  Pools& pools_;
  RegistrationTable& table_;
  std::atomic<bool> logged_full_{false};
};

}  // namespace vramstow

#endif  // VRAMSTOW_INTERPOSE_CORE_POOLS_REGISTRATIONS_H_
