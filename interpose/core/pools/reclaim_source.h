// ReclaimSource makes room for a request of a pool for which the device has no memory.
//
// Idea: memory of this process moves to the host (--offload=auto). If that is not enough, the
// request waits until other processes have made room (--share). The trace records whether memory
// moved because the pool had reached its limit, although the device may have free memory.
//
// Ownership: none; both sources may be null and outlive the pool. Threads: any that holds no lock
// of the pool. Errors: returns fewer bytes than requested. Units: bytes.
#ifndef VRAMSTOW_INTERPOSE_CORE_POOLS_RECLAIM_SOURCE_H_
#define VRAMSTOW_INTERPOSE_CORE_POOLS_RECLAIM_SOURCE_H_

#include <atomic>
#include <cstdint>

#include "allocator/core/config.h"
#include "interpose/core/runtime/core.h"

namespace vramstow {

class Offloader;
class Pool;

struct ReclaimSource {
  static constexpr uint64_t kNothingMoved = ~uint64_t{0};

  Offloader* offloader = nullptr;
  RoomRequest* room_request = nullptr;
  Trace* trace = nullptr;
  Pool* pool = nullptr;
  int device = 0;
  // The highest limit that was reached when memory moved; 0 if memory also moved without a limit.
  std::atomic<uint64_t> reached_limit{kNothingMoved};

  static ReclaimCallback CallbackOf(ReclaimSource* source) {
    return {Reclaim, source, ReclaimAgain};
  }
  // Records in this trace at which limits of the new pool memory moves.
  void Watch(Pool* opened, int pool_device, Trace* into) {
    pool = opened;
    trace = into;
    if (device != pool_device) reached_limit = kNothingMoved;  // that of the same GPU stays
    device = pool_device;
  }
  bool any() const { return offloader != nullptr || room_request != nullptr; }
  // PoolConfig::reclaim_callback; `self` is a ReclaimSource. Other processes, which have refused
  // the room once, are asked again only if this process needs less of them by then.
  static uint64_t Reclaim(void* self, uint64_t bytes);
  static uint64_t ReclaimAgain(void* self, uint64_t bytes);
};

}  // namespace vramstow

#endif  // VRAMSTOW_INTERPOSE_CORE_POOLS_RECLAIM_SOURCE_H_
