// HeapTable: the heaps of a pool, by their number and by their key.
//
// Idea: heaps are made at first sight of a stream, and found again without a lock. A heap keeps its
// address for as long as the pool lives, so that a pointer to one is always good; but it may get
// another key, so whoever found it without the device's lock asks StreamHeap::Serves.
//
// There are only so many timelines and heaps. Where all timelines are taken, one whose stream has
// ended becomes the new stream's, and its heaps are detached. A detached heap that is empty is used
// before another one is made. Where all heaps are taken, so is one whose stream has ended, or that
// is of a private pool that was let go or of a tag, if it is empty.
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
  // is right for the stream, which lives. No heap's lock is held.
  StreamHeap* Get(const HeapKey& key) VRAMSTOW_REQUIRES(kDeviceLock);
  // The timeline of a stream, which lives; kEverything where it is unknown or gets none. No heap's
  // lock is held.
  uint32_t TimelineOf(uint64_t stream) VRAMSTOW_REQUIRES(kDeviceLock);
  // The stream is about to be destroyed. No heap's lock is held.
  void StreamEnds(uint64_t stream) VRAMSTOW_REQUIRES(kDeviceLock);

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
  StreamHeap* Add(const HeapKey& key, uint32_t timeline) VRAMSTOW_REQUIRES(kDeviceLock);
  StreamHeap* ReuseVacant(const HeapKey& key, uint32_t timeline) VRAMSTOW_REQUIRES(kDeviceLock);
  bool TryRename(StreamHeap* heap, const HeapKey& key, uint32_t timeline, bool* ensured)
      VRAMSTOW_REQUIRES(kDeviceLock);
  bool MayRename(const StreamHeap& heap, const HeapKey& key) const VRAMSTOW_REQUIRES(kDeviceLock);
  void Detach(StreamHeap* heap) VRAMSTOW_REQUIRES(kDeviceLock, heap->mutex);
  void Link(StreamHeap* heap) VRAMSTOW_REQUIRES(kDeviceLock);
  void Unlink(const StreamHeap* heap) VRAMSTOW_REQUIRES(kDeviceLock);
  uint32_t Forget() VRAMSTOW_REQUIRES(kDeviceLock);
  void Destroy(uint32_t number) VRAMSTOW_REQUIRES(kDeviceLock);

  HeapDependencies with_{};
  uint32_t id_space_ = 0;
  uint32_t detached_ VRAMSTOW_GUARDED_BY(kDeviceLock) = 0;  // heaps
  std::atomic<uint32_t> count_{0};
  StreamHeap* heaps_[kMaxHeaps + 1] = {};         // by number, from 1
  std::atomic<StreamHeap*> table_[kPlaces] = {};  // by key
};

}  // namespace vramstow

#endif  // VRAMSTOW_ALLOCATOR_POOL_HEAP_TABLE_H_
