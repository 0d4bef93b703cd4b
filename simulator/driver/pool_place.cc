#include "simulator/driver/pool_place.h"

#include "simulator/driver/host_memory.h"
#include "simulator/driver/state.h"

namespace vramstow::simulator {
namespace {

// The simulated machine is one NUMA node. The documentation says that the location "NUMA node of
// the current thread" is invalid here.
bool IsHost(const CUmemLocation& location) {
  switch (static_cast<int>(location.type)) {
    case CU_MEM_LOCATION_TYPE_HOST:
      return true;
    case CU_MEM_LOCATION_TYPE_HOST_NUMA:
      return location.id == 0;
    default:
      return false;
  }
}

}  // namespace

CUresult ReadPoolPlace(Call& call, CUmemAllocationType type, const CUmemLocation& location,
                       PoolPlace* place) {
  constexpr int kManagedType = 2;  // CU_MEM_ALLOCATION_TYPE_MANAGED, of CUDA 13
  constexpr int kNoLocation = 0;   // CU_MEM_LOCATION_TYPE_NONE, for managed memory only
  const bool managed = static_cast<int>(type) == kManagedType;
  if (!managed && type != CU_MEM_ALLOCATION_TYPE_PINNED) return CUDA_ERROR_INVALID_VALUE;
  if (location.type == CU_MEM_LOCATION_TYPE_DEVICE) {
    if (location.id < 0 || location.id >= call.machine().devices()) {
      return CUDA_ERROR_INVALID_DEVICE;
    }
    *place = {managed ? PoolKind::kManaged : PoolKind::kDevice, location.id};
    return CUDA_SUCCESS;
  }
  const bool nowhere = managed && static_cast<int>(location.type) == kNoLocation;
  if (!nowhere && !IsHost(location)) return CUDA_ERROR_INVALID_VALUE;
  *place = {managed ? PoolKind::kManaged : PoolKind::kPinned, kHost};
  return CUDA_SUCCESS;
}

uint64_t AllocateChunk(State* state, const PoolPlace& place, uint64_t bytes) {
  if (place.kind == PoolKind::kDevice) {
    return state->machine->memory.AllocatePages(place.device, bytes, true);
  }
  return reinterpret_cast<uintptr_t>(MapHostPages(bytes));
}

void ReturnChunk(State* state, const PoolPlace& place, uint64_t address, uint64_t bytes) {
  if (place.kind == PoolKind::kDevice) {
    state->machine->memory.ReturnPages(place.device, address, bytes, true);
    return;
  }
  UnmapHostPages(&state->machine->contents, address, bytes);
}

Block* AddBlock(State* state, const PoolPlace& place, uint64_t address, uint64_t size,
                uint64_t bytes, const Context* context, void* pool) {
  Memory& memory = state->machine->memory;
  if (place.kind == PoolKind::kDevice) {
    return memory.AddPoolBlock(place.device, address, size, bytes, context, pool);
  }
  const bool managed = place.kind == PoolKind::kManaged;
  Block* block = memory.AddHost(address, bytes,
                                managed ? BlockKind::kManaged : BlockKind::kHostPinned, context);
  block->size = size;
  block->pool = pool;
  if (managed) block->device = place.device == kHost ? context->device : place.device;
  return block;
}

bool IsFromPool(const Block& block) {
  if (block.kind == BlockKind::kPool) return true;
  return block.pool != nullptr && block.kind != BlockKind::kImported;
}

}  // namespace vramstow::simulator
