// HeapTable: the heaps of a pool, found by their number and by their key.
//
// Idea: a heap is created when its stream is first seen, and found again without a lock. A heap
// stays at its address while the pool lives, so a pointer to one is always valid. But it may get
// another key, so code that found it without the device's lock must call StreamHeap::Serves.
//
// The number of timelines and heaps is limited. If all timelines are in use, the timeline of an
// ended stream is given to the new stream, and its heaps are detached. An empty detached heap is
// reused before a new one is made. If all heaps are in use, the table reuses an empty heap of one
// of three kinds: its stream has ended, it belonged to a released private pool, or it has a tag.
//
// Ownership: the heaps, until Close. Threads: Find, at and count may be called from any thread, all
// else under the device's lock. Errors: returns null if there is no memory. Units: bytes.
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

  // Opens the table. Blocks of tables with different values of `id_space`, which is below 2048,
  // never have the same id.
  void Open(const HeapDependencies& with, uint32_t id_space);
  // Removes all heaps after calling drop(heap) for each.
  template <typename Drop>
  void Close(Drop drop) VRAMSTOW_REQUIRES(kDeviceLock) {
    const uint32_t heaps = Forget();
    for (uint32_t number = 1; number <= heaps; ++number) {
      drop(heaps_[number]);
      Destroy(number);
    }
  }

  StreamHeap* Find(const HeapKey& key) const;
  // Like Find, but creates the heap if needed. If that heap is paused, or if there are too many
  // heaps, returns another one that can serve the stream. The stream is not destroyed, and the
  // caller holds no heap's lock.
  StreamHeap* Get(const HeapKey& key) VRAMSTOW_REQUIRES(kDeviceLock);
  // Returns the timeline of a stream that is not destroyed, or kEverything if the stream is unknown
  // or no timeline is left. The caller holds no heap's lock.
  uint32_t TimelineOf(uint64_t stream) VRAMSTOW_REQUIRES(kDeviceLock);
  // Notes that the stream is about to be destroyed. The caller holds no heap's lock.
  void StreamEnds(uint64_t stream) VRAMSTOW_REQUIRES(kDeviceLock);

  uint32_t count() const { return count_.load(std::memory_order_acquire); }
  // Returns the heap of this number; numbers begin at 1.
  StreamHeap* at(uint32_t number) const { return heaps_[number]; }
  // Calls visit(heap) for each heap, with that heap's lock held and its deferred frees carried out.
  template <typename Visit>
  void VisitLocked(Visit visit) {
    const uint32_t heaps = count();
    for (uint32_t number = 1; number <= heaps; ++number) {
      HeapLock lock(heaps_[number]);
      visit(heaps_[number]);
    }
  }

  // The sum over all heaps, read without a lock. Each heap's number is exact except for deferred
  // frees.
  uint64_t AllocatedBytes() const;
  // Bytes that are mapped for callers without a stream.
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
  uint32_t detached_ VRAMSTOW_GUARDED_BY(kDeviceLock) = 0;  // number of detached heaps
  std::atomic<uint32_t> count_{0};
  StreamHeap* heaps_[kMaxHeaps + 1] = {};         // by number, from 1
  std::atomic<StreamHeap*> table_[kPlaces] = {};  // by key
};

}  // namespace vramstow

#endif  // VRAMSTOW_ALLOCATOR_POOL_HEAP_TABLE_H_
