// Private pools of a framework: memory that graphs were captured with, and what a framework wants
// to see of the pool.
#include "allocator/pool/pool.h"

namespace vramstow {

void Pool::KeepPrivate(uint64_t pool, bool keep) {
  MutexLock device_lock(&mutex_);
  const uint32_t count = heap_count_.load(std::memory_order_relaxed);
  for (uint32_t number = 1; number <= count; ++number) {
    Heap* heap = heaps_[number];
    if (pool == 0 || heap->key.pool != pool) continue;
    HeapLock lock(heap);
    heap->graph_pinned = keep;
  }
}

PoolError Pool::AllocateAt(uint64_t address, const BlockRequest& request, Block* block) {
  if (request.size == 0 || address % kBlockBytes != 0) return PoolError::kInvalid;
  const uint64_t size = (request.size + kBlockBytes - 1) & ~(kBlockBytes - 1);
  MutexLock device_lock(&mutex_);
  Heap* heap = FindHeap({request.stream, request.pool});
  if (heap == nullptr) return PoolError::kInvalid;
  uint64_t sum = 0;
  {
    HeapLock lock(heap);
    if (!heap->Prepare()) return PoolError::kUnavailable;
    const uint32_t index = heap->TakeAt(address, size);
    if (index == 0) return PoolError::kInvalid;
    sum = FinishAllocation(heap, index, request, Served::kHit, block);
  }
  if (sum != 0) NotePeak(heap, sum);
  return PoolError::kOk;
}

MappedBytes Pool::Mapped(uint64_t pool) const {
  MappedBytes mapped{};
  const uint32_t count = heap_count_.load(std::memory_order_acquire);
  for (uint32_t number = 1; number <= count; ++number) {
    const Heap* heap = heaps_[number];
    if (heap->key.stream == kUnknownStream || (pool != 0 && heap->key.pool != pool)) continue;
    const HeapStats& stats = heap->stats;
    mapped.small += stats.mapped_bytes[Heap::kSmallZone].load(std::memory_order_relaxed);
    mapped.large += stats.mapped_bytes[Heap::kLargeZone].load(std::memory_order_relaxed);
  }
  return mapped;
}

uint64_t Pool::MappedWithoutStream() const {
  const Heap* heap = FindHeap({kUnknownStream, 0});
  if (heap == nullptr) return 0;
  const HeapStats& stats = heap->stats;
  return stats.mapped_bytes[Heap::kSmallZone].load(std::memory_order_relaxed) +
         stats.mapped_bytes[Heap::kLargeZone].load(std::memory_order_relaxed);
}

void Pool::VisitSpans(SpanVisitor visitor, void* context) {
  MutexLock device_lock(&mutex_);
  const uint32_t count = heap_count_.load(std::memory_order_relaxed);
  for (uint32_t number = 1; number <= count; ++number) {
    Heap* heap = heaps_[number];
    HeapLock lock(heap);
    heap->VisitSpans([&](const Span& span) {
      if (span.state == SpanState::kHole) return;
      const bool block = span.state == SpanState::kLive || span.state == SpanState::kPending;
      visitor(context, {span.address, span.size, block ? span.requested : 0, heap->key.stream,
                        heap->key.pool, block ? span.state : SpanState::kFree, span.layer,
                        span.zone == Heap::kSmallZone});
    });
  }
}

}  // namespace vramstow
