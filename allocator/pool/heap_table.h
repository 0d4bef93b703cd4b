// HeapTable: the heaps of a pool, found by their number and by their key.
//
// Idea: a heap is created when its stream is first seen, and is found later without a lock. A heap
// keeps its address while the pool lives, so a pointer to one is always valid. But a heap may get
// another key, so code that found it without the device's lock must call StreamHeap::Serves.
//
// The number of timelines (records of a stream's events) and of heaps is limited. If all timelines
// are in use, the timeline of an ended stream is given to the new stream, and the heaps of the
// ended stream are detached. An empty detached heap is reused before a new heap is made. If all
// heaps are in use, the table reuses an empty heap of one of three kinds: its stream has ended, it
// belonged to a private pool, or it has a tag.
//
// Ownership: the heaps, until Close. Threads: Find, at and count may be called from any thread, all
// other functions under the device's lock. Errors: returns null if there is no memory. Units:
// bytes.
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

  // Opens the table. `id_space` is below 2048. Blocks of two tables never have the same id if the
  // tables have different values of `id_space`.
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
  // Returns the heap of this key and creates it if it does not exist. If the heap of a tag is
  // paused, returns the heap without a tag, which may be paused, too. If there are too many heaps,
  // returns another heap that can serve the stream. The stream must not
  // be destroyed yet, and the caller holds no heap's lock.
  StreamHeap* Get(const HeapKey& key) VRAMSTOW_REQUIRES(kDeviceLock);
  // Returns the timeline (the record of the events) of a stream. Returns kEverything if the stream
  // is unknown or no timeline is left. The stream must not be destroyed yet, and the caller holds
  // no heap's lock.
  uint32_t TimelineOf(uint64_t stream) VRAMSTOW_REQUIRES(kDeviceLock);
  // Notes that the stream is about to be destroyed. The caller holds no heap's lock.
  void StreamEnds(uint64_t stream) VRAMSTOW_REQUIRES(kDeviceLock);

  uint32_t count() const { return count_.load(std::memory_order_acquire); }
  // Returns the heap of this number; numbers begin at 1.
  StreamHeap* at(uint32_t number) const { return heaps_[number]; }
  // Calls visit(heap) for each heap. During the call that heap's lock is held, and its deferred
  // frees have been carried out.
  template <typename Visit>
  void VisitLocked(Visit visit) {
    const uint32_t heaps = count();
    for (uint32_t number = 1; number <= heaps; ++number) {
      HeapLock lock(heaps_[number]);
      visit(heaps_[number]);
    }
  }

  // Returns the sum of the allocated bytes of all heaps, read without a lock. Each heap's number
  // also includes blocks whose free is deferred.
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
