#include "interpose/core/handlers/pool_kinds.h"

#include <algorithm>
#include <atomic>
#include <cstddef>

namespace vramstow::handlers {
namespace {

constexpr size_t kPlaces = 64;

struct Place {
  std::atomic<CUmemoryPool> pool;  // null: free
  std::atomic<MemoryKind> kind;
};

Place places[kPlaces];
std::atomic<size_t> used{0};  // places that were ever taken, from the first on

Place* Find(CUmemoryPool pool) {
  const size_t count = std::min(used.load(std::memory_order_acquire), kPlaces);
  for (size_t i = 0; i < count; ++i) {
    if (places[i].pool.load(std::memory_order_acquire) == pool) return &places[i];
  }
  return nullptr;
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
  if (Place* known = Find(pool)) {
    known->kind.store(kind, std::memory_order_release);
    return;
  }
  if (Place* left = Find(nullptr)) {
    left->kind.store(kind, std::memory_order_relaxed);
    CUmemoryPool none = nullptr;
    if (left->pool.compare_exchange_strong(none, pool, std::memory_order_release)) return;
  }
  const size_t index = used.fetch_add(1, std::memory_order_relaxed);
  if (index >= kPlaces) return;
  places[index].kind.store(kind, std::memory_order_relaxed);
  places[index].pool.store(pool, std::memory_order_release);
}

void ForgetPool(CUmemoryPool pool) {
  if (pool == nullptr) return;
  if (Place* known = Find(pool)) known->pool.store(nullptr, std::memory_order_release);
}

MemoryKind KindOfPool(CUmemoryPool pool) {
  if (pool == nullptr) return MemoryKind::kDeviceStream;
  const Place* known = Find(pool);
  return known == nullptr ? MemoryKind::kDeviceStream : known->kind.load(std::memory_order_acquire);
}

}  // namespace vramstow::handlers
