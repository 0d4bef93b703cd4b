// Allocates chunks for stream-ordered pools on a device, in managed memory or in pinned memory.
//
// Idea: a pool divides chunks into blocks in the same way wherever they lie. Chunks of a device are
// charged to it; managed and pinned ones are pages of this process and charged to no device.
//
// Ownership: a chunk belongs to the caller until ReturnChunk. Threads: the caller holds the
// driver's lock. Errors: returns a CUresult, or an address of 0. Units: bytes.
#ifndef VRAMSTOW_SIMULATOR_DRIVER_POOL_PLACE_H_
#define VRAMSTOW_SIMULATOR_DRIVER_POOL_PLACE_H_

#include <compare>

#include "simulator/driver/call.h"

namespace vramstow::simulator {

enum class PoolKind : uint8_t { kDevice, kManaged, kPinned };

struct PoolPlace {
  PoolKind kind = PoolKind::kDevice;
  int device = kHost;  // for managed memory the preferred device, or kHost
  // NOLINTNEXTLINE(modernize-use-nullptr): older checks take what = default compares for a pointer
  auto operator<=>(const PoolPlace& other) const = default;
};

// Converts an allocation type and a location by the rules of cuMemPoolCreate.
CUresult ReadPoolPlace(Call& call, CUmemAllocationType type, const CUmemLocation& location,
                       PoolPlace* place);

// Allocates whole pages for a pool. Returns 0 if too little memory is left.
uint64_t AllocateChunk(State* state, const PoolPlace& place, uint64_t bytes);
void ReturnChunk(State* state, const PoolPlace& place, uint64_t address, uint64_t bytes);

// Adds a block of `size` bytes within a chunk, of which `bytes` were requested.
Block* AddBlock(State* state, const PoolPlace& place, uint64_t address, uint64_t size,
                uint64_t bytes, const Context* context, void* pool);

// True if freeing the block returns it to the pool that it came from.
bool IsFromPool(const Block& block);

}  // namespace vramstow::simulator

#endif  // VRAMSTOW_SIMULATOR_DRIVER_POOL_PLACE_H_
