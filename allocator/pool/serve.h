// The functions of this file complete an allocation: they count the new block, record its first use
// (a touch), and record the event. Every allocation ends here, also one that cached memory served.
//
// Ownership: none. Threads: the heap's lock. Errors: none. Units: bytes.
#ifndef VRAMSTOW_ALLOCATOR_POOL_SERVE_H_
#define VRAMSTOW_ALLOCATOR_POOL_SERVE_H_

#include <cstdint>

#include "allocator/core/counter.h"
#include "allocator/pool/parts.h"
#include "allocator/pool/types.h"
#include "base/rounding.h"

namespace vramstow {

// Records the time `clock` as the last use (the touch) of the new block. A page may have been
// pinned for an earlier block. Pages that lie wholly in the new block are unpinned. A page that the
// new block shares stays pinned, because it may have been pinned for a neighbour.
inline void TouchNewBlock(AddressSpace* space, const Span& span, uint32_t clock) {
  space->Touch(span.address, clock);
  const uint64_t page = space->page_bytes();
  const uint64_t end = span.address + span.size;
  for (uint64_t at = RoundUp(span.address, page); at + page <= end; at += page) {
    space->Renew(at, clock);
  }
}

// Completes the allocation of the block with number `index`. The event is recorded under the heap's
// lock, before another thread can see the block. If the result is not 0, the caller must pass it to
// PeakTracker::NoteSum after the heap's lock is released.
inline uint64_t FinishAllocation(PoolParts* parts, StreamHeap* heap, uint32_t index,
                                 const BlockRequest& request, Served served, Block* block)
    VRAMSTOW_REQUIRES(heap->mutex) {
  Span& span = heap->span(index);
  span.requested = request.size;
  span.layer = request.layer;
  span.id = ++heap->next_id;
  span.offloaded = false;
  const uint64_t allocated =
      heap->stats.allocated_bytes.load(std::memory_order_relaxed) + span.size;
  heap->stats.allocated_bytes.store(allocated, std::memory_order_relaxed);
  Bump(&heap->stats.requested_bytes, request.size);
  Bump(&heap->stats.live_blocks, 1);
  Bump(&heap->stats.allocations, 1);
  heap->NoteLive(span.address);
  const uint32_t clock = parts->touch_clock.load(std::memory_order_relaxed);
  if (clock != 0) TouchNewBlock(&parts->space, span, clock);
  *block = {span.address, span.size, served};
  parts->events.Block(EventKind::kAllocate, request.layer, span.address, span.size, request.size,
                      request.stream, served);
  return parts->peak.NoteServed(heap, allocated);
}

}  // namespace vramstow

#endif  // VRAMSTOW_ALLOCATOR_POOL_SERVE_H_
