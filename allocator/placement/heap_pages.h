// HeapPages: one heap's spans and the memory under them, as the planner and the stripper receive
// them. Plan: one way to make room for a block with chunks.
//
// Ownership: none; the pointers' objects belong to the heap and its pool. Threads: the heap's lock
// and the device's lock. Errors: none. Units: bytes.
#ifndef VRAMSTOW_ALLOCATOR_PLACEMENT_HEAP_PAGES_H_
#define VRAMSTOW_ALLOCATOR_PLACEMENT_HEAP_PAGES_H_

#include <cstdint>

#include "allocator/core/fences.h"
#include "allocator/heap/span_table.h"
#include "allocator/physical/chunk_store.h"

namespace vramstow {

struct HeapPages {
  SpanTable* spans;
  ChunkStore* chunks;
  AddressSpace* space;
  const Fences* fences;
  uint32_t timeline;
  bool on_stream;     // the timeline is that of one stream, whose order protects its memory
  bool graph_pinned;  // no chunk may move: a captured graph writes to what is mapped

  // True if a chunk may move within the heap although unfinished work of the heap's own stream
  // touches it: the stream's order protects the data. During a capture the order of submission
  // guarantees nothing.
  bool MovesUnfenced() const { return on_stream && chunks->shadows() && !fences->capturing(); }
  // True if no unfinished work can touch a free span.
  bool IsUntouched(const Span& span) const { return fences->Completed(timeline, span.tick); }
};

// A run of pages; those that are holes get chunks.
struct Plan {
  uint64_t address = 0;
  uint64_t pages = 0;
  uint64_t count = 0;  // how many chunks the plan needs
  uint64_t cost = 0;   // driver calls that it takes
  uint64_t left = 0;   // free bytes that remain beside the block
  uint64_t from = 0;   // free spans in [from, to) belong to the plan
  uint64_t to = 0;
  bool repeats = false;  // the block lies where it lay in the iteration before

  bool Touches(const Span& span) const {
    return span.address < to && from < span.address + span.size;
  }
};

}  // namespace vramstow

#endif  // VRAMSTOW_ALLOCATOR_PLACEMENT_HEAP_PAGES_H_
