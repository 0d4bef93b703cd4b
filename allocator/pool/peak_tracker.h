// PeakTracker: the peak of what is allocated, exact over all heaps though a hit looks at its own
// heap only.
//
// Idea: every heap has a credit, all of them together at most the peak. A heap that stays below its
// credit cannot raise the peak; only one that has used up its own sums up all heaps and shares what
// the peak leaves over anew.
//
// Ownership: none. Threads: NoteServed under the heap's lock, NoteSum without any heap's; the rest
// from any thread unless it says otherwise. Errors: none. Units: bytes.
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

  // The heap has `allocated` bytes now. Returns 0, or, where it has used up its credit, what all
  // heaps have allocated: that calls for NoteSum.
  uint64_t NoteServed(StreamHeap* heap, uint64_t allocated) VRAMSTOW_REQUIRES(heap->mutex) {
    if (allocated <= heap->stats.credit.load(std::memory_order_relaxed)) return 0;
    if (heaps_->count() == 1 && !heap->has_deferred()) {
      // Nobody else has credit, and nobody gets any while this heap is locked (HeapTable::Make).
      const uint64_t before = peak();
      const uint64_t higher = allocated > before ? allocated : before;
      peak_.store(higher, std::memory_order_relaxed);
      heap->stats.credit.store(higher, std::memory_order_relaxed);
      return 0;
    }
    return heaps_->AllocatedBytes();
  }
  // The heap had used up its credit when all had allocated `sum`, at most.
  void NoteSum(StreamHeap* heap, uint64_t sum) VRAMSTOW_EXCLUDES(heap->mutex, mutex_);

  uint64_t peak() const { return peak_.load(std::memory_order_relaxed); }
  // The peak counts from now on.
  void Reset() VRAMSTOW_EXCLUDES(mutex_);
  // The peak since memory was last given back on call: what was needed before is no measure for
  // what is held from then on.
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
  // Guards the credits of all heaps, once there are two. A heap's lock may be taken under it.
  FastMutex mutex_ VRAMSTOW_ACQUIRED_AFTER(kDeviceLock);
  std::atomic<uint64_t> peak_{0};
  uint64_t since_trim_ VRAMSTOW_GUARDED_BY(kDeviceLock) = 0;
  bool trimmed_ VRAMSTOW_GUARDED_BY(kDeviceLock) = false;
};

}  // namespace vramstow

#endif  // VRAMSTOW_ALLOCATOR_POOL_PEAK_TRACKER_H_
