// Span: the record of a run of addresses that are in one state. A heap consists of spans.
//
// Idea: the spans of a region form a list ordered by address, without a gap: live blocks, free
// spans (mapped: the cached memory) and holes (unmapped addresses). Neighbours in the same state
// are joined, unless joining is deferred (kQuick) or has to wait for work (kPending).
//
// Ownership: the heap's slab owns the spans. Threads: guarded by the heap's lock. Errors: none.
// Units: bytes, multiples of kBlockBytes.
#ifndef VRAMSTOW_ALLOCATOR_HEAP_SPAN_H_
#define VRAMSTOW_ALLOCATOR_HEAP_SPAN_H_

#include <cstdint>

#include "allocator/core/slab.h"
#include "base/event.h"

namespace vramstow {

// The granule of block sizes and addresses. Libraries rely on it: cudaMalloc promises 256 bytes.
inline constexpr uint64_t kBlockBytes = 512;

enum class SpanState : uint8_t {
  kNone = 0,
  kLive,     // the application holds it
  kFree,     // mapped, and in the index of free spans
  kQuick,    // free, kept whole for a request of the same size; not yet joined with neighbours
  kPending,  // freed, but work of other streams may still touch it
  kHole,     // unmapped
};

// A span fills one cache line, because a request that is served from the cache touches one span.
struct alignas(64) Span {
  uint64_t address;
  uint64_t size;
  uint64_t requested;  // for a live block
  uint64_t id;         // of a live block; unique in the process
  uint32_t previous;   // neighbour below, 0 at the region's start
  uint32_t next;       // neighbour above, 0 at the region's end
  uint32_t list_previous;
  uint32_t list_next;
  uint32_t tick;  // free span: the heap's stream may touch it until this tick completes
  uint32_t uses;  // live or pending block: the first recorded use by another stream
  // For a free span, the pool's epoch in which it was freed. For a large live block, the block's
  // name among the heap's requests (PlacementPredictor).
  uint32_t epoch;
  SpanState state;
  uint8_t zone;
  Layer layer;
  bool offloaded;  // live or pending block: a part is in host memory
};
static_assert(sizeof(Span) == 64);

using SpanSlab = Slab<Span>;

}  // namespace vramstow

#endif  // VRAMSTOW_ALLOCATOR_HEAP_SPAN_H_
