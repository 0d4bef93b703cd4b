// Implements stream-ordered memory pools.
//
// Idea: a pool holds chunks of memory (pool_place.h) and divides them into blocks. The stream that
// freed a block may reuse it at once, and so may a stream that is ordered behind the free by an
// event or the legacy stream. Other streams may reuse the block when its stream has reached the
// free, or after a synchronization. If memory is short, a stream may also be made to wait for
// another stream's free. Attributes of the pool can keep other streams from reuse until a
// synchronization. Chunks that are wholly free are returned to the device on trimming, or at a
// synchronization while the pool holds more than its release threshold.
//
// Modelled: chunks have at least 32 MiB, and block sizes are multiples of 512 bytes.
//
// Ownership: the State owns pools, a pool its chunks. Threads: the caller holds the driver's lock.
// Errors: returns a CUresult. Units: bytes.
#ifndef VRAMSTOW_SIMULATOR_DRIVER_POOL_H_
#define VRAMSTOW_SIMULATOR_DRIVER_POOL_H_

#include <map>

#include "simulator/device/exports.h"
#include "simulator/driver/call.h"
#include "simulator/driver/pool_place.h"

namespace vramstow::simulator {

struct Pool {
  struct Pending {  // a freed block whose free may not be reached yet
    Mark mark;
    uint64_t address = 0;
    uint64_t size = 0;
  };

  PoolPlace place;
  bool is_default = false;
  bool destroyed = false;
  uint64_t size_max = 0;  // 0: as much as the device has
  uint64_t release_threshold = 0;
  int reuse_follow_events = 1;
  int reuse_opportunistic = 1;
  int reuse_internal = 1;
  uint64_t reserved = 0;
  uint64_t reserved_high = 0;
  uint64_t used = 0;
  uint64_t used_high = 0;
  RangeAllocator free;
  std::map<uint64_t, uint64_t> chunks;  // address -> size
  std::vector<Pending> pending;
  std::map<int, CUmemAccess_flags> access;  // access of other devices
  unsigned handle_types = 0;                // the types of handles it may be exported as
  bool imported = false;  // belongs to another process, so nothing is allocated from it here
  Ticket ticket;          // of the export or the import
};

// Returns the pool of a handle, or null if there is none or it was destroyed.
Pool* FindPool(CUmemoryPool handle);
Pool* NewPool(const PoolPlace& place);

// Frees a block of a pool by cuMemFree, after all work that could use it has ended.
void FreeToPool(Call& call, Block* block);

// Makes the memory of frees that were reached usable for all streams after a synchronization, and
// returns memory above each pool's release threshold to its device.
void TrimPools(State* state);

}  // namespace vramstow::simulator

#endif  // VRAMSTOW_SIMULATOR_DRIVER_POOL_H_
