// HeapTable: the heaps of a pool, by their number and by their key.
//
// Idea: heaps are made at first sight of a stream, and found again without a lock. A heap keeps its
// address for as long as the pool lives, so that a pointer to one is always good.
//
// Ownership: the heaps, until Close. Threads: Find, at and count from any thread; all else under
// the device's lock. Errors: null: no memory. Units: bytes.
#ifndef VRAMSTOW_ALLOCATOR_POOL_HEAP_TABLE_H_
#define VRAMSTOW_ALLOCATOR_POOL_HEAP_TABLE_H_

#include <atomic>
#include <cstdint>

#include "allocator/core/device_lock.h"
#include "allocator/pool/stream_heap.h"

namespace vramstow {

class HeapTable {
 public:
  static constexpr uint32_t kMaxHeaps = 1024;

  // Blocks of tables with different `id_space`s, which are below 2048, never have the same id.
  void Open(const HeapDependencies& with, uint32_t id_space);
  // Forgets the heaps, after drop(heap) for each.
  template <typename Drop>
  void Close(Drop drop) VRAMSTOW_REQUIRES(kDeviceLock) {
    const uint32_t heaps = Forget();
    for (uint32_t number = 1; number <= heaps; ++number) {
      drop(heaps_[number]);
      Destroy(number);
    }
  }

  StreamHeap* Find(const HeapKey& key) const;
  // The same, made if need be; where that heap is paused, or there are too many, another one that
  // is right for the stream.
  StreamHeap* Get(const HeapKey& key) VRAMSTOW_REQUIRES(kDeviceLock);

  uint32_t count() const { return count_.load(std::memory_order_acquire); }
  // Heaps have numbers from 1 on.
  StreamHeap* at(uint32_t number) const { return heaps_[number]; }
  // Calls visit(heap) for each heap, with that heap's lock held and no free of it deferred.
  template <typename Visit>
  void VisitLocked(Visit visit) {
    const uint32_t heaps = count();
    for (uint32_t number = 1; number <= heaps; ++number) {
      HeapLock lock(heaps_[number]);
      visit(heaps_[number]);
    }
  }

  // The sum over all heaps, read without a lock: each number is exact but for what is deferred.
  uint64_t AllocatedBytes() const;
  // Mapped memory of callers without a stream.
  uint64_t MappedWithoutStream() const;

 private:
  static constexpr uint32_t kPlaces = 2 * kMaxHeaps;

  static uint64_t PlaceOf(const HeapKey& key);
  StreamHeap* Make(const HeapKey& key) VRAMSTOW_REQUIRES(kDeviceLock);
  uint32_t Forget() VRAMSTOW_REQUIRES(kDeviceLock);
  void Destroy(uint32_t number) VRAMSTOW_REQUIRES(kDeviceLock);

  HeapDependencies with_{};
  uint32_t id_space_ = 0;
  std::atomic<uint32_t> count_{0};
  StreamHeap* heaps_[kMaxHeaps + 1] = {};         // by number, from 1
  std::atomic<StreamHeap*> table_[kPlaces] = {};  // by key
};

}  // namespace vramstow

#endif  // VRAMSTOW_ALLOCATOR_POOL_HEAP_TABLE_H_
