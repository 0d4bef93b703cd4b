// PeakTracker: the peak of the allocated bytes of a pool. The peak is exact over all heaps,
// although an allocation from cached memory reads only the counter of its own heap.
//
// Idea: every heap has a credit, a number of bytes that it may allocate without looking at other
// heaps; the credits add up to at most the peak. A heap whose allocated bytes stay below its credit
// cannot raise the peak. Only a heap that exceeds its credit adds up all heaps. It then gets a new
// credit from the bytes that the other heaps leave below the peak.
//
// Ownership: none. Threads: NoteServed under the heap's lock, NoteSum without any heap's lock; the
// other functions from any thread unless they say otherwise. Errors: none. Units: bytes.
#ifndef VRAMSTOW_ALLOCATOR_POOL_PEAK_TRACKER_H_
#define VRAMSTOW_ALLOCATOR_POOL_PEAK_TRACKER_H_

#include <atomic>
#include <cstdint>

#include "allocator/core/device_lock.h"
#include "allocator/pool/heap_table.h"

namespace vramstow {

class PeakTracker {
 public:
  void Open(const HeapTable* heaps) { heaps_ = heaps; }

  // Records that the heap now has `allocated` bytes. Returns 0 if they are within the heap's
  // credit. Otherwise it returns the allocated bytes of all heaps, and NoteSum must be called with
  // that sum.
  uint64_t NoteServed(StreamHeap* heap, uint64_t allocated) VRAMSTOW_REQUIRES(heap->mutex) {
    if (allocated <= heap->stats.credit.load(std::memory_order_relaxed)) return 0;
    if (heaps_->count() == 1 && !heap->has_deferred()) {
      // No other heap has credit, and none can get any while this heap is locked (HeapTable::Add).
      const uint64_t before = peak();
      const uint64_t higher = allocated > before ? allocated : before;
      peak_.store(higher, std::memory_order_relaxed);
      heap->stats.credit.store(higher, std::memory_order_relaxed);
      return 0;
    }
    return heaps_->AllocatedBytes();
  }
  // Updates the peak and the heap's credit after NoteServed returned `sum`.
  void NoteSum(StreamHeap* heap, uint64_t sum) VRAMSTOW_EXCLUDES(heap->mutex, mutex_);

  uint64_t peak() const { return peak_.load(std::memory_order_relaxed); }
  // Restarts the peak from the current allocated bytes.
  void Reset() VRAMSTOW_EXCLUDES(mutex_);
  // Restarts since_trim(), the peak since memory was last released on request. A peak from before
  // that release is no reason to hold memory after it.
  void NoteTrim() VRAMSTOW_REQUIRES(kDeviceLock) {
    trimmed_ = true;
    since_trim_ = heaps_->AllocatedBytes();
  }
  uint64_t since_trim() const VRAMSTOW_REQUIRES(kDeviceLock) {
    return trimmed_ ? since_trim_ : peak();
  }

 private:
  void Update();
  void FlushAllDeferred();
  void RenewCredit(StreamHeap* heap);
  uint64_t CollectCredit(const StreamHeap* except) VRAMSTOW_REQUIRES(mutex_);

  const HeapTable* heaps_ = nullptr;
  // Guards the credits of all heaps if there are at least two. A heap's lock may be taken under it.
  FastMutex mutex_ VRAMSTOW_ACQUIRED_AFTER(kDeviceLock);
  std::atomic<uint64_t> peak_{0};
  uint64_t since_trim_ VRAMSTOW_GUARDED_BY(kDeviceLock) = 0;
  bool trimmed_ VRAMSTOW_GUARDED_BY(kDeviceLock) = false;
};

}  // namespace vramstow

#endif  // VRAMSTOW_ALLOCATOR_POOL_PEAK_TRACKER_H_
