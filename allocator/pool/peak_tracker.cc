#include "allocator/pool/peak_tracker.h"

namespace vramstow {

void PeakTracker::NoteSum(StreamHeap* heap, uint64_t sum) {
  if (sum > peak()) Update();
  RenewCredit(heap);
}

// Raises the peak to the allocated bytes of all heaps if these are more. The thread whose block
// causes a new peak sees its own block in that sum.
void PeakTracker::Update() {
  FlushAllDeferred();
  const uint64_t sum = heaps_->AllocatedBytes();
  uint64_t before = peak();
  while (sum > before && !peak_.compare_exchange_weak(before, sum)) {
  }
}

void PeakTracker::FlushAllDeferred() {
  const uint32_t count = heaps_->count();
  for (uint32_t number = 1; number <= count; ++number) {
    StreamHeap* heap = heaps_->at(number);
    if (!heap->has_deferred()) continue;
    MutexLock lock(&heap->mutex);
    heap->FlushDeferred();
  }
}

// A heap's credit is the number of bytes that it may allocate before it has to look at the other
// heaps (peak_tracker.h). This function reduces the credit of every heap other than `except` to the
// bytes that the heap uses, and returns the sum of the reduced credits. mutex_ guards the credits;
// without it a heap gets credit only while it is the only heap (NoteServed).
uint64_t PeakTracker::CollectCredit(const StreamHeap* except) {
  const uint32_t count = heaps_->count();
  uint64_t left = 0;
  for (uint32_t number = 1; number <= count; ++number) {
    StreamHeap* heap = heaps_->at(number);
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

// Gives the heap credit for its allocated bytes, and for half of the bytes that all heaps together
// leave below the peak. The other half remains for the next heap that needs credit.
void PeakTracker::RenewCredit(StreamHeap* heap) {
  MutexLock credit_lock(&mutex_);
  const uint64_t others = CollectCredit(heap);
  const uint64_t most = peak() > others ? peak() - others : 0;
  MutexLock lock(&heap->mutex);
  const uint64_t allocated = heap->stats.allocated_bytes.load(std::memory_order_relaxed);
  const bool alone = heaps_->count() == 1;
  const uint64_t unused = most > allocated && !alone ? most - allocated : 0;
  heap->stats.credit.store(most - unused / 2, std::memory_order_relaxed);
}

void PeakTracker::Reset() {
  MutexLock lock(&mutex_);
  // A heap without credit must add up all heaps at its next allocation and so sees the new peak.
  // The second call of CollectCredit removes credit that a heap got after the first call.
  CollectCredit(nullptr);
  FlushAllDeferred();
  peak_.store(heaps_->AllocatedBytes(), std::memory_order_relaxed);
  CollectCredit(nullptr);
}

}  // namespace vramstow
