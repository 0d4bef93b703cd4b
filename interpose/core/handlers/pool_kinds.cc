#include "interpose/core/handlers/pool_kinds.h"

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace vramstow::handlers {
namespace {

constexpr size_t kPlaces = 64;

// States of a slot that contains no handle; no handle has these values. A thread first reserves a
// free slot, then stores the kind, and then the pool's handle. So no other thread reads a handle
// without its kind.
constexpr uintptr_t kFree = 0;
constexpr uintptr_t kTaken = 1;

struct KnownPool {
  std::atomic<uintptr_t> pool;
  std::atomic<MemoryKind> kind;
};

constinit KnownPool places[kPlaces] = {};
constinit std::atomic<size_t> used{0};  // slots in use so far, from the first on

uintptr_t PoolName(CUmemoryPool pool) { return reinterpret_cast<uintptr_t>(pool); }

KnownPool* FindPool(CUmemoryPool pool) {
  const size_t count = used.load(std::memory_order_acquire);
  for (size_t i = 0; i < count; ++i) {
    if (places[i].pool.load(std::memory_order_acquire) == PoolName(pool)) return &places[i];
  }
  return nullptr;
}

void CountAsUsed(size_t index) {
  size_t count = used.load(std::memory_order_relaxed);
  while (count <= index &&
         !used.compare_exchange_weak(count, index + 1, std::memory_order_acq_rel)) {
  }
}

}  // namespace

MemoryKind PoolMemory(CUmemAllocationType type, const CUmemLocation& location) {
  constexpr int kManagedType = 2;  // CU_MEM_ALLOCATION_TYPE_MANAGED, of CUDA 13
  if (static_cast<int>(type) == kManagedType) return MemoryKind::kManaged;
  return location.type == CU_MEM_LOCATION_TYPE_DEVICE ? MemoryKind::kDeviceStream
                                                      : MemoryKind::kHostPinned;
}

void NotePool(CUmemoryPool pool, MemoryKind kind) {
  if (pool == nullptr || kind == MemoryKind::kDeviceStream) return;
  if (KnownPool* known = FindPool(pool)) {
    known->kind.store(kind, std::memory_order_release);
    return;
  }
  for (size_t i = 0; i < kPlaces; ++i) {
    uintptr_t free = kFree;
    if (!places[i].pool.compare_exchange_strong(free, kTaken, std::memory_order_acquire)) continue;
    places[i].kind.store(kind, std::memory_order_relaxed);
    places[i].pool.store(PoolName(pool), std::memory_order_release);
    CountAsUsed(i);
    return;
  }
}

// Removes all entries of a pool. There may be two, because two threads may have stored it at the
// same time.
void ForgetPool(CUmemoryPool pool) {
  if (pool == nullptr) return;
  while (KnownPool* known = FindPool(pool)) {
    uintptr_t name = PoolName(pool);
    known->pool.compare_exchange_strong(name, kFree, std::memory_order_release);
  }
}

MemoryKind KindOfPool(CUmemoryPool pool) {
  if (pool == nullptr) return MemoryKind::kDeviceStream;
  const KnownPool* known = FindPool(pool);
  return known == nullptr ? MemoryKind::kDeviceStream : known->kind.load(std::memory_order_acquire);
}

}  // namespace vramstow::handlers
