// The peak of what is allocated, exact over all heaps though a hit looks at its own only.
#include "allocator/pool/pool.h"

namespace vramstow {

// Without any heap's lock: the heap has used up its credit when all had allocated `sum`, at most.
void Pool::NotePeak(Heap* heap, uint64_t sum) {
  if (sum > peak_allocated_.load(std::memory_order_relaxed)) UpdatePeak();
  RenewCredit(heap);
}

// Without any heap's lock. The thread that makes the sum largest sees its own block in it.
void Pool::UpdatePeak() {
  const uint32_t count = heap_count_.load(std::memory_order_acquire);
  for (uint32_t number = 1; number <= count; ++number) {
    Heap* heap = heaps_[number];
    if (heap->deferred_count.load(std::memory_order_relaxed) != 0) HeapLock lock(heap);
  }
  const uint64_t sum = AllocatedBytes();
  uint64_t peak = peak_allocated_.load(std::memory_order_relaxed);
  while (sum > peak && !peak_allocated_.compare_exchange_weak(peak, sum)) {
  }
}

// Takes from all heaps but one the credit that they do not use, and returns what they have left.
// The credits' lock is held, so that only the first of all heaps, while it is alone, gives itself
// some (FinishAllocation).
uint64_t Pool::CollectCredit(const Heap* except) {
  const uint32_t count = heap_count_.load(std::memory_order_acquire);
  uint64_t left = 0;
  for (uint32_t number = 1; number <= count; ++number) {
    Heap* heap = heaps_[number];
    if (heap == except) continue;
    HeapStats& stats = heap->stats;
    uint64_t credit = stats.credit.load(std::memory_order_relaxed);
    if (credit > stats.allocated_bytes.load(std::memory_order_relaxed)) {
      MutexLock lock(&heap->mutex);
      const uint64_t allocated = stats.allocated_bytes.load(std::memory_order_relaxed);
      if (allocated < credit) credit = allocated;
      stats.credit.store(credit, std::memory_order_relaxed);
    }
    left += credit;
  }
  return left;
}

// What the peak leaves over is shared between this heap and whoever asks next: half of it is the
// heap's.
void Pool::RenewCredit(Heap* heap) {
  MutexLock credit_lock(&credit_mutex_);
  const uint64_t others = CollectCredit(heap);
  const uint64_t peak = peak_allocated_.load(std::memory_order_relaxed);
  const uint64_t most = peak > others ? peak - others : 0;
  MutexLock lock(&heap->mutex);
  const uint64_t allocated = heap->stats.allocated_bytes.load(std::memory_order_relaxed);
  const bool alone = heap_count_.load(std::memory_order_acquire) == 1;
  const uint64_t unused = most > allocated && !alone ? most - allocated : 0;
  heap->stats.credit.store(most - unused / 2, std::memory_order_relaxed);
}

}  // namespace vramstow
