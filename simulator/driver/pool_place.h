// Where the memory of a stream-ordered pool lies: on a device, in managed memory, in pinned memory.
//
// Idea: a pool cuts blocks from chunks in the same way wherever they are. Chunks of a device are
// charged to it; managed and pinned ones are pages of this process, which no card is charged for.
//
// Ownership: a chunk is the caller's until ReturnChunk. Threads: the driver's lock. Errors:
// CUresult, or an address of 0. Units: bytes.
#ifndef VRAMSTOW_SIMULATOR_DRIVER_POOL_PLACE_H_
#define VRAMSTOW_SIMULATOR_DRIVER_POOL_PLACE_H_

#include <compare>

#include "simulator/driver/call.h"

namespace vramstow::simulator {

enum class PoolKind : uint8_t { kDevice, kManaged, kPinned };

struct PoolPlace {
  PoolKind kind = PoolKind::kDevice;
  int device = kHost;  // of managed memory the one that is preferred, or kHost
  // NOLINTNEXTLINE(modernize-use-nullptr): older checks take what = default compares for a pointer
  auto operator<=>(const PoolPlace& other) const = default;
};

// The place that an allocation type and a location mean, by the rules of cuMemPoolCreate.
CUresult ReadPoolPlace(Call& call, CUmemAllocationType type, const CUmemLocation& location,
                       PoolPlace* place);

// Whole pages for a pool. 0: not enough left.
uint64_t TakeChunk(State* state, const PoolPlace& place, uint64_t bytes);
void ReturnChunk(State* state, const PoolPlace& place, uint64_t address, uint64_t bytes);

// A block of `size` bytes within a chunk, `bytes` of which were asked for.
Block* AddBlock(State* state, const PoolPlace& place, uint64_t address, uint64_t size,
                uint64_t bytes, const Context* context, void* pool);

// Whether a block ends by going back to the pool that it is from.
bool IsFromPool(const Block& block);

}  // namespace vramstow::simulator

#endif  // VRAMSTOW_SIMULATOR_DRIVER_POOL_PLACE_H_
