#include "simulator/driver/pool.h"

#include <string.h>

#include <algorithm>

#include "base/rounding.h"
#include "simulator/driver/capture.h"
#include "simulator/driver/context.h"
#include "simulator/driver/event_sharing.h"
#include "simulator/driver/graph.h"
#include "simulator/driver/ipc.h"
#include "simulator/driver/profiler.h"
#include "simulator/driver/stream.h"

namespace vramstow::simulator {
namespace {

constexpr uint64_t kChunkMin = 32ull << 20;

// The pools of all devices. Guarded by the driver's lock; never destroyed. A destroyed pool is
// retained, because blocks may still refer to it.
struct PoolTables {
  Handles<Pool> pools;
  std::map<PoolPlace, Pool*> default_of;
  std::map<PoolPlace, Pool*> current_of;
};
PoolTables& Pools() {
  static auto* tables = new PoolTables;
  return *tables;
}

Pool* MakePool(const PoolPlace& place, bool is_default) {
  auto pool = std::make_unique<Pool>();
  pool->place = place;
  pool->is_default = is_default;
  return Pools().pools.Add(std::move(pool));
}

Pool* DefaultPool(const PoolPlace& place) {
  Pool*& pool = Pools().default_of[place];
  if (pool == nullptr) pool = MakePool(place, true);
  return pool;
}

Pool* CurrentPool(const PoolPlace& place) {
  Pool*& pool = Pools().current_of[place];
  if (pool == nullptr) pool = DefaultPool(place);
  return pool;
}

void Sweep(Pool* pool) {
  std::erase_if(pool->pending, [pool](const Pool::Pending& pending) {
    if (!pending.mark.Reached()) return false;
    pool->free.Add(pending.address, pending.size);
    return true;
  });
}

void Trim(State* state, Pool* pool, uint64_t keep) {
  Sweep(pool);
  for (auto chunk = pool->chunks.begin(); chunk != pool->chunks.end() && pool->reserved > keep;) {
    const auto [address, size] = *chunk;
    if (!pool->free.AllocateAt(address, size)) {
      ++chunk;
      continue;
    }
    ReturnChunk(state, pool->place, address, size);
    pool->reserved -= size;
    chunk = pool->chunks.erase(chunk);
  }
}

bool Grow(State* state, Pool* pool, uint64_t size) {
  const uint64_t exact = RoundUp(size, kDevicePage);
  if (exact < size) return false;
  for (const uint64_t bytes : {std::max(exact, kChunkMin), exact}) {
    if (pool->size_max != 0 && pool->reserved + bytes > pool->size_max) continue;
    const uint64_t address = AllocateChunk(state, pool->place, bytes);
    if (address == 0) continue;
    pool->chunks[address] = bytes;
    pool->reserved += bytes;
    pool->reserved_high = std::max(pool->reserved_high, pool->reserved);
    pool->free.Add(address, bytes);
    return true;
  }
  return false;
}

// Claims memory of a pending free, that is, of a freed block whose stream may not have reached the
// free yet. The block must be large enough and usable. The rest of the block stays pending. Adds
// the mark of the free to `frees`.
template <typename Usable>
uint64_t TakePending(Pool* pool, uint64_t size, const Usable& is_usable, std::vector<Mark>* frees) {
  for (auto pending = pool->pending.begin(); pending != pool->pending.end(); ++pending) {
    if (pending->size < size || !is_usable(*pending)) continue;
    const uint64_t address = pending->address;
    frees->push_back(pending->mark);
    pending->address += size;
    pending->size -= size;
    if (pending->size == 0) pool->pending.erase(pending);
    return address;
  }
  return 0;
}

// Claims a range that pending frees and free memory cover together, and adds the marks of these
// frees to `frees`.
void Claim(Pool* pool, uint64_t address, uint64_t size, std::vector<Mark>* frees) {
  const uint64_t end = address + size;
  std::vector<Pool::Pending> rest;
  std::map<uint64_t, uint64_t> claimed;  // start -> end
  for (const Pool::Pending& pending : pool->pending) {
    const uint64_t pending_end = pending.address + pending.size;
    const uint64_t start = std::max(pending.address, address);
    const uint64_t stop = std::min(pending_end, end);
    if (start >= stop) {
      rest.push_back(pending);
      continue;
    }
    claimed[start] = stop;
    frees->push_back(pending.mark);
    if (pending.address < start) {
      rest.push_back({pending.mark, pending.address, start - pending.address});
    }
    if (stop < pending_end) rest.push_back({pending.mark, stop, pending_end - stop});
  }
  claimed[end] = end;
  uint64_t at = address;
  for (const auto& [start, stop] : claimed) {
    if (at < start) pool->free.AllocateAt(at, start - at);
    at = stop;
  }
  pool->pending = std::move(rest);
}

// Claims memory that usable pending frees make only together, or together with free memory beside
// them. On a GPU they need not lie beside each other.
template <typename Usable>
uint64_t TakeJoined(Pool* pool, uint64_t size, const Usable& is_usable, std::vector<Mark>* frees) {
  if (pool->pending.empty()) return 0;
  RangeAllocator joined = pool->free;
  for (const Pool::Pending& pending : pool->pending) {
    if (is_usable(pending)) joined.Add(pending.address, pending.size);
  }
  const uint64_t address = joined.Take(size, kSmallUnit);
  if (address != 0) Claim(pool, address, size, frees);
  return address;
}

uint64_t AllocateFrom(Call& call, Pool* pool, Stream* stream, uint64_t size) {
  const bool follows = pool->reuse_follow_events != 0 && !pool->pending.empty();
  std::vector<Mark> frees;
  if (follows) {
    AddImplicitWaits(*stream, &frees);
    Timeline::NoteOrder(stream->queue.get(), frees);
    frees.clear();
  }
  const auto is_ordered = [&](const Pool::Pending& pending) {
    return pending.mark.queue == stream->queue ||
           (follows && Timeline::ComesAfter(stream->queue, pending.mark));
  };
  uint64_t address = TakePending(pool, size, is_ordered, &frees);
  if (address != 0) return address;
  if (pool->reuse_opportunistic != 0) Sweep(pool);
  address = pool->free.Take(size, kSmallUnit);
  if (address == 0) address = TakeJoined(pool, size, is_ordered, &frees);
  if (address != 0) return address;
  if (Grow(&call.state(), pool, size)) return pool->free.Take(size, kSmallUnit);
  if (pool->reuse_internal == 0) return 0;
  const auto is_any = [](const Pool::Pending&) { return true; };
  address = TakePending(pool, size, is_any, &frees);
  if (address == 0) address = TakeJoined(pool, size, is_any, &frees);
  if (address != 0) {
    call.machine().timeline.Enqueue(stream->queue, nullptr, std::move(frees), 0);
  }
  return address;
}

CUresult AllocateInOrder(const char* name, CUdeviceptr* address, size_t bytes, Pool* wish,
                         CUstream handle) {
  return ServeMemory(
      name, Needs::kContext, {.bytes = bytes}, [&](Call& call, Call::Line& line) -> CUresult {
        if ((call.machine().spec().without & kMemoryPools) != 0) return CUDA_ERROR_NOT_SUPPORTED;
        Stream* stream = FindStream(call, handle);
        if (address == nullptr) return CUDA_ERROR_INVALID_VALUE;
        if (stream == nullptr) return CUDA_ERROR_INVALID_HANDLE;
        Pool* pool =
            wish != nullptr ? wish : CurrentPool({PoolKind::kDevice, stream->context->device});
        const bool usable = Pools().pools.Has(pool) && !pool->destroyed && !pool->imported;
        if (!usable) return CUDA_ERROR_INVALID_VALUE;
        line.device = pool->place.device;
        const bool on_device = pool->place.kind == PoolKind::kDevice;
        if (on_device && bytes > call.machine().memory.total(pool->place.device)) {
          return CUDA_ERROR_OUT_OF_MEMORY;
        }
        const uint64_t least = std::max<uint64_t>(bytes, 1);  // 0 bytes get a block, too
        const uint64_t size = RoundUp(least, kSmallUnit);
        if (size < least) return CUDA_ERROR_OUT_OF_MEMORY;
        if (stream->capture != nullptr) {
          if (!on_device) return CUDA_ERROR_NOT_SUPPORTED;
          uint64_t start = 0;
          const CUresult result = CaptureAllocate(call, stream, pool->place.device, least, &start);
          if (result == CUDA_SUCCESS) line.address = *address = start;
          return result;
        }
        const uint64_t start = AllocateFrom(call, pool, stream, size);
        if (start == 0) return CUDA_ERROR_OUT_OF_MEMORY;
        AddBlock(&call.state(), pool->place, start, size, bytes, stream->context, pool);
        pool->used += size;
        pool->used_high = std::max(pool->used_high, pool->used);
        EmitPool(call, *pool);
        line.address = *address = start;
        return CUDA_SUCCESS;
      });
}

// Keeps a block of another process's pool mapped until the stream reaches the free.
class KeepImport : public Work {
 public:
  KeepImport(State* state, uint64_t address) : state_(state), address_(address) {}
  void Run(uint64_t /*time_ns*/) override {
    Block* block = state_->machine->memory.FindExact(address_);
    if (block != nullptr) EndImport(state_->machine.get(), block);
  }

 private:
  State* state_;
  uint64_t address_;
};

CUresult FreeInOrder(Call& call, CUdeviceptr address, CUstream handle, Call::Line* line) {
  Memory& memory = call.machine().memory;
  Stream* stream = FindStream(call, handle);
  Block* block = memory.FindExact(address);
  if (stream == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  const bool import =
      block != nullptr && block->kind == BlockKind::kImported && block->pool != nullptr;
  if (block == nullptr || (!IsFromPool(*block) && !import)) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  line->bytes = block->requested;
  line->device = block->device;
  if (import) {
    if (stream->capture != nullptr) return CUDA_ERROR_INVALID_VALUE;
    Submit(call, stream, std::make_shared<KeepImport>(&call.state(), address));
    return CUDA_SUCCESS;
  }
  if (stream->capture != nullptr) {
    // The address belongs to the graph until the graph ends, so only a free node is recorded.
    if (block->pool != nullptr) return CUDA_ERROR_INVALID_VALUE;
    return CaptureFree(call, stream, address);
  }
  auto* pool = static_cast<Pool*>(block->pool);
  if (pool == nullptr) {
    Submit(call, stream, KeepPages({FreeGraphBlock(&call.state(), block)}));
    return CUDA_SUCCESS;
  }
  // The stream reaches the free once the work that is now in it has ended.
  const Mark mark = Submit(call, stream, nullptr);
  pool->pending.push_back({mark, block->address, block->size});
  pool->used -= block->size;
  EmitPool(call, *pool);
  memory.Release(block);
  if (pool->destroyed) Trim(&call.state(), pool, 0);
  return CUDA_SUCCESS;
}

CUresult SetOne(Pool* pool, CUmemPool_attribute attribute, const void* value) {
  uint64_t wide = 0;
  int narrow = 0;
  memcpy(&narrow, value, sizeof(narrow));
  switch (attribute) {
    case CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES:
      pool->reuse_follow_events = narrow;
      break;
    case CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC:
      pool->reuse_opportunistic = narrow;
      break;
    case CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES:
      pool->reuse_internal = narrow;
      break;
    case CU_MEMPOOL_ATTR_RELEASE_THRESHOLD:
      memcpy(&pool->release_threshold, value, sizeof(uint64_t));
      break;
    case CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH:
    case CU_MEMPOOL_ATTR_USED_MEM_HIGH:
      memcpy(&wide, value, sizeof(wide));
      if (wide != 0) return CUDA_ERROR_INVALID_VALUE;  // as documented, a peak can only be reset
      (attribute == CU_MEMPOOL_ATTR_USED_MEM_HIGH ? pool->used_high : pool->reserved_high) =
          attribute == CU_MEMPOOL_ATTR_USED_MEM_HIGH ? pool->used : pool->reserved;
      break;
    default:
      return CUDA_ERROR_INVALID_VALUE;
  }
  return CUDA_SUCCESS;
}

CUresult GetPoolAttribute(const Pool& pool, CUmemPool_attribute attribute, void* value) {
  const auto put = [value](auto number) { memcpy(value, &number, sizeof(number)); };
  switch (static_cast<int>(attribute)) {
    case CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES:
      put(pool.reuse_follow_events);
      break;
    case CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC:
      put(pool.reuse_opportunistic);
      break;
    case CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES:
      put(pool.reuse_internal);
      break;
    case CU_MEMPOOL_ATTR_RELEASE_THRESHOLD:
      put(pool.release_threshold);
      break;
    case CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT:
      put(pool.reserved);
      break;
    case CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH:
      put(pool.reserved_high);
      break;
    case CU_MEMPOOL_ATTR_USED_MEM_CURRENT:
      put(pool.used);
      break;
    case CU_MEMPOOL_ATTR_USED_MEM_HIGH:
      put(pool.used_high);
      break;
    default:
      return CUDA_ERROR_INVALID_VALUE;
  }
  return CUDA_SUCCESS;
}

}  // namespace

Pool* FindPool(CUmemoryPool handle) {
  Pool* pool = Pools().pools.Find(handle);
  return pool == nullptr || pool->destroyed ? nullptr : pool;
}

Pool* NewPool(const PoolPlace& place) { return MakePool(place, false); }

void FreeToPool(Call& call, Block* block) {
  auto* pool = static_cast<Pool*>(block->pool);
  if (pool == nullptr) {
    FreeGraphBlock(&call.state(), block);
    return;
  }
  pool->used -= block->size;
  pool->free.Add(block->address, block->size);
  call.machine().memory.Release(block);
  if (pool->destroyed) Trim(&call.state(), pool, 0);
}

void TrimPools(State* state) {
  for (const void* handle : Pools().pools.all()) {
    Pool* pool = Pools().pools.Find(handle);
    const uint64_t keep = pool->destroyed ? 0 : pool->release_threshold;
    Sweep(pool);
    if (pool->reserved > keep) Trim(state, pool, keep);
  }
}

}  // namespace vramstow::simulator

using namespace vramstow::simulator;  // NOLINT(google-build-using-namespace): the C ABI is global

namespace {

template <typename Body>
CUresult WithPool(const char* name, CUmemoryPool handle, Body&& body) {
  return Serve(name, Needs::kInit, [&](Call& call) -> CUresult {
    Pool* pool = FindPool(handle);
    if (pool != nullptr) EmitPool(call, *pool);
    return pool == nullptr ? CUDA_ERROR_INVALID_VALUE : body(call, pool);
  });
}

CUresult GivePool(const char* name, CUmemoryPool* out, CUmemAllocationType type,
                  const CUmemLocation& location, Pool* (*of)(const PoolPlace&)) {
  return Serve(name, Needs::kInit, [&](Call& call) {
    if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
    PoolPlace place;
    const CUresult result = ReadPoolPlace(call, type, location, &place);
    if (result != CUDA_SUCCESS) return result;
    if ((call.machine().spec().without & kMemoryPools) != 0) return CUDA_ERROR_NOT_SUPPORTED;
    *out = reinterpret_cast<CUmemoryPool>(of(place));
    return CUDA_SUCCESS;
  });
}

// As documented, a pool can be made current only for the location of its memory. An imported pool
// cannot be made current.
CUresult SelectPool(const char* name, CUmemAllocationType type, const CUmemLocation& location,
                    CUmemoryPool handle) {
  return WithPool(name, handle, [&](Call& call, Pool* pool) -> CUresult {
    PoolPlace place;
    const CUresult result = ReadPoolPlace(call, type, location, &place);
    if (result != CUDA_SUCCESS) return result;
    if (pool->place != place || pool->imported) return CUDA_ERROR_INVALID_VALUE;
    Pools().current_of[place] = pool;
    return CUDA_SUCCESS;
  });
}

CUmemLocation DeviceLocation(CUdevice device) {
  CUmemLocation location = {};
  location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  location.id = device;
  return location;
}

}  // namespace

extern "C" {

CUresult cuMemAllocAsync(CUdeviceptr* address, size_t bytes, CUstream stream) {
  return AllocateInOrder("cuMemAllocAsync", address, bytes, nullptr, stream);
}

CUresult cuMemAllocFromPoolAsync(CUdeviceptr* address, size_t bytes, CUmemoryPool pool,
                                 CUstream stream) {
  if (pool == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return AllocateInOrder("cuMemAllocFromPoolAsync", address, bytes, reinterpret_cast<Pool*>(pool),
                         stream);
}

CUresult cuMemFreeAsync(CUdeviceptr address, CUstream stream) {
  return ServeMemory("cuMemFreeAsync", Needs::kContext, {.address = address, .skip = address == 0},
                     [&](Call& call, Call::Line& line) -> CUresult {
                       if (address == 0) return CUDA_SUCCESS;
                       return FreeInOrder(call, address, stream, &line);
                     });
}

CUresult cuDeviceGetDefaultMemPool(CUmemoryPool* pool, CUdevice device) {
  return GivePool("cuDeviceGetDefaultMemPool", pool, CU_MEM_ALLOCATION_TYPE_PINNED,
                  DeviceLocation(device), DefaultPool);
}

CUresult cuDeviceGetMemPool(CUmemoryPool* pool, CUdevice device) {
  return GivePool("cuDeviceGetMemPool", pool, CU_MEM_ALLOCATION_TYPE_PINNED, DeviceLocation(device),
                  CurrentPool);
}

CUresult cuDeviceSetMemPool(CUdevice device, CUmemoryPool handle) {
  return SelectPool("cuDeviceSetMemPool", CU_MEM_ALLOCATION_TYPE_PINNED, DeviceLocation(device),
                    handle);
}

CUresult cuMemGetDefaultMemPool(CUmemoryPool* pool, CUmemLocation* location,
                                CUmemAllocationType type) {
  if (location == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return GivePool("cuMemGetDefaultMemPool", pool, type, *location, DefaultPool);
}

CUresult cuMemGetMemPool(CUmemoryPool* pool, CUmemLocation* location, CUmemAllocationType type) {
  if (location == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return GivePool("cuMemGetMemPool", pool, type, *location, CurrentPool);
}

CUresult cuMemSetMemPool(CUmemLocation* location, CUmemAllocationType type, CUmemoryPool pool) {
  if (location == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return SelectPool("cuMemSetMemPool", type, *location, pool);
}

CUresult cuMemPoolCreate(CUmemoryPool* out, const CUmemPoolProps* properties) {
  return Serve("cuMemPoolCreate", Needs::kInit, [&](Call& call) -> CUresult {
    if (out == nullptr || properties == nullptr) return CUDA_ERROR_INVALID_VALUE;
    if ((call.machine().spec().without & kMemoryPools) != 0) return CUDA_ERROR_NOT_SUPPORTED;
    PoolPlace place;
    const CUresult result =
        ReadPoolPlace(call, properties->allocType, properties->location, &place);
    if (result != CUDA_SUCCESS) return result;
    // Two things are not simulated: handles that are not file descriptors, and shared pools of host
    // memory.
    const unsigned handles =
        place.kind == PoolKind::kDevice ? CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR : 0;
    if ((properties->handleTypes & ~handles) != 0) return CUDA_ERROR_NOT_SUPPORTED;
    Pool* pool = NewPool(place);
    pool->size_max = vramstow::RoundUp(properties->maxSize, kDevicePage);
    pool->handle_types = properties->handleTypes;
    EmitPool(call, *pool);
    *out = reinterpret_cast<CUmemoryPool>(pool);
    return CUDA_SUCCESS;
  });
}

// As documented, blocks of a destroyed pool live on, and the default pool becomes the device's
// current pool.
CUresult cuMemPoolDestroy(CUmemoryPool handle) {
  return WithPool("cuMemPoolDestroy", handle, [](Call& call, Pool* pool) {
    if (pool->is_default) return CUDA_ERROR_INVALID_VALUE;
    pool->destroyed = true;
    if (IsOwn(pool->ticket)) OwnExports().Withdraw(pool->ticket);
    if (CurrentPool(pool->place) == pool) {
      // If the destroyed pool was a managed one, the device's default pool becomes current, too, as
      // on a GPU.
      const bool of_device = pool->place.device != kHost;
      Pools().current_of[pool->place] =
          DefaultPool(of_device ? PoolPlace{PoolKind::kDevice, pool->place.device} : pool->place);
    }
    Trim(&call.state(), pool, 0);
    return CUDA_SUCCESS;
  });
}

CUresult cuMemPoolTrimTo(CUmemoryPool handle, size_t keep) {
  return WithPool("cuMemPoolTrimTo", handle, [&](Call& call, Pool* pool) {
    Trim(&call.state(), pool, keep);
    return CUDA_SUCCESS;
  });
}

CUresult cuMemPoolSetAttribute(CUmemoryPool handle, CUmemPool_attribute attribute, void* value) {
  return WithPool("cuMemPoolSetAttribute", handle, [&](Call&, Pool* pool) {
    return value == nullptr ? CUDA_ERROR_INVALID_VALUE : SetOne(pool, attribute, value);
  });
}

CUresult cuMemPoolGetAttribute(CUmemoryPool handle, CUmemPool_attribute attribute, void* value) {
  return WithPool("cuMemPoolGetAttribute", handle, [&](Call&, Pool* pool) {
    return value == nullptr ? CUDA_ERROR_INVALID_VALUE : GetPoolAttribute(*pool, attribute, value);
  });
}

CUresult cuMemPoolSetAccess(CUmemoryPool handle, const CUmemAccessDesc* wishes, size_t count) {
  return WithPool("cuMemPoolSetAccess", handle, [&](Call& call, Pool* pool) {
    if (wishes == nullptr) return CUDA_ERROR_INVALID_VALUE;
    for (size_t i = 0; i < count; ++i) {
      const CUmemAccessDesc& wish = wishes[i];
      if (wish.location.type != CU_MEM_LOCATION_TYPE_DEVICE) return CUDA_ERROR_INVALID_VALUE;
      if (!IsDevice(call, wish.location.id)) return CUDA_ERROR_INVALID_DEVICE;
      // As documented, the pool's own device cannot lose its access.
      if (wish.location.id == pool->place.device &&
          wish.flags != CU_MEM_ACCESS_FLAGS_PROT_READWRITE) {
        return CUDA_ERROR_INVALID_VALUE;
      }
      pool->access[wish.location.id] = wish.flags;
    }
    return CUDA_SUCCESS;
  });
}

CUresult cuMemPoolGetAccess(CUmemAccess_flags* flags, CUmemoryPool handle,
                            CUmemLocation* location) {
  return WithPool("cuMemPoolGetAccess", handle, [&](Call& call, Pool* pool) {
    if (flags == nullptr || location == nullptr || location->type != CU_MEM_LOCATION_TYPE_DEVICE ||
        !IsDevice(call, location->id)) {
      return CUDA_ERROR_INVALID_VALUE;
    }
    const auto found = pool->access.find(location->id);
    *flags = location->id == pool->place.device ? CU_MEM_ACCESS_FLAGS_PROT_READWRITE
             : found == pool->access.end()      ? CU_MEM_ACCESS_FLAGS_PROT_NONE
                                                : found->second;
    return CUDA_SUCCESS;
  });
}

}  // extern "C"
