// Stream-ordered memory pools.
//
// Idea: a pool holds chunks of memory (pool_place.h) and cuts blocks from them. A freed block may
// be used again at once in the stream that freed it, elsewhere when the free has been reached; when
// memory is short, a stream may also be made to wait for another's free. Chunks that are wholly
// free go back to the device when something is synchronised and the pool holds more than its
// release threshold, or on trimming.
//
// Modelled: chunks are 32 MiB at least, blocks are cut in units of 512 bytes.
//
// Ownership: the State owns pools, a pool its chunks. Threads: the driver's lock. Errors: CUresult.
// Units: bytes.
#ifndef VRAMSTOW_SIMULATOR_DRIVER_POOL_H_
#define VRAMSTOW_SIMULATOR_DRIVER_POOL_H_

#include <map>

#include "simulator/device/exports.h"
#include "simulator/driver/call.h"
#include "simulator/driver/pool_place.h"

namespace vramstow::simulator {

struct Pool {
  struct Pending {  // freed, perhaps not reached yet
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
  std::map<int, CUmemAccess_flags> access;  // of other devices
  unsigned handle_types = 0;                // what it may be exported as
  bool imported = false;                    // another process's: nothing is allocated from it here
  Ticket ticket;                            // exported, or by which it was imported
};

// The pool that a handle means; null: none, or one that was destroyed.
Pool* FindPool(CUmemoryPool handle);
Pool* NewPool(const PoolPlace& place);

// cuMemFree of a block from a pool: all work that could touch it has ended.
void FreeToPool(Call& call, Block* block);

// After a synchronisation: pools give back what is over their threshold.
void TrimPools(State* state);

}  // namespace vramstow::simulator

#endif  // VRAMSTOW_SIMULATOR_DRIVER_POOL_H_
