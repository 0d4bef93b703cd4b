// Checks the invariants of a heap, for VRAMSTOW_CHECK and for every test.
#include "allocator/pool/stream_heap.h"

namespace vramstow {
namespace {

// Totals over the spans of a heap.
struct SpanSums {
  uint64_t allocated = 0;
  uint64_t live = 0;
  uint64_t pending = 0;
  uint64_t quick = 0;
  uint64_t free_bytes = 0;
  uint64_t hole_bytes = 0;
  uint32_t blocks = 0;
  uint32_t records = 0;
};

// Checks a span by itself and against the state of the span before it. Returns null if it is
// consistent, else a sentence that states the violation.
const char* CheckSpan(const Span& span, SpanState before, uint64_t page, SpanSums* sums) {
  switch (span.state) {
    case SpanState::kLive:
      sums->allocated += span.size;
      ++sums->live;
      if (span.requested > span.size) return "a block is smaller than what was asked for";
      break;
    case SpanState::kPending:
      sums->pending += span.size;
      break;
    case SpanState::kQuick:
      sums->quick += span.size;
      break;
    case SpanState::kFree:
      sums->free_bytes += span.size;
      if (before == SpanState::kFree) return "two free spans side by side";
      break;
    case SpanState::kHole:
      sums->hole_bytes += span.size;
      if (span.address % page != 0 || span.size % page != 0) return "a hole ends within a page";
      if (before == SpanState::kHole) return "two holes side by side";
      break;
    case SpanState::kNone:
      return "a span has no state";
  }
  return nullptr;
}

// Checks the pages of a span. Returns null if they are consistent with its state, else a sentence
// that states the violation.
const char* CheckPages(const Span& span, const HeapDependencies& with) {
  if (span.state == SpanState::kHole) return nullptr;
  const bool is_block = span.state == SpanState::kLive || span.state == SpanState::kPending;
  const uint64_t page = with.page_bytes;
  for (uint64_t at = span.address / page * page; at < span.address + span.size; at += page) {
    if (with.space->PageAt(at).chunk == 0) return "a span lies on a page without a chunk";
    const bool is_parked = !with.chunks->segments() && with.chunks->Parked(at);
    if (is_parked && !(is_block && span.offloaded)) return "memory of a parked page can be served";
  }
  return nullptr;
}

}  // namespace

uint64_t StreamHeap::BackedBytes() const {
  uint64_t backed = 0;
  for (uint32_t r = 0; r < spans_.region_count(); ++r) {
    const SpanTable::Region& region = spans_.region(r);
    for (uint64_t at = 0; at < region.size; at += spans_.page_bytes()) {
      if (with_.space->PageAt(region.address + at).chunk != 0) backed += spans_.page_bytes();
    }
  }
  return backed;
}

const char* StreamHeap::Check() const {
  SpanSums sums;
  const uint64_t page = spans_.page_bytes();
  for (uint32_t r = 0; r < spans_.region_count(); ++r) {
    const SpanTable::Region& region = spans_.region(r);
    uint64_t expected = region.address;
    uint32_t previous = 0;
    for (uint32_t i = region.first; i != 0; i = spans_[i].next) {
      const Span& span = spans_[i];
      ++sums.records;
      if (span.address != expected) return "spans of a region leave a gap or overlap";
      if (span.previous != previous) return "a span's link to the one below is wrong";
      if (span.size == 0 || span.size % kBlockBytes != 0) return "a span's size is odd";
      if (span.zone != region.zone) return "a span is in the wrong zone";
      const SpanState before = previous != 0 ? spans_[previous].state : SpanState::kNone;
      const char* found = CheckSpan(span, before, page, &sums);
      if (found == nullptr) found = deferred_.Check(span);
      if (found == nullptr) found = CheckPages(span, with_);
      if (found != nullptr) return found;
      const bool hole = span.state == SpanState::kHole;
      if (span.state != SpanState::kFree && !hole) {
        ++sums.blocks;
        if (map_.Find(span.address, spans_.slab()) != i) {
          return "a block is not found by its address";
        }
      }
      if (with_.space->HeapOf(span.address) != number) return "an address leads to another heap";
      expected += span.size;
      previous = i;
    }
    if (expected != region.address + region.size) return "spans do not fill their region";
  }
  if (sums.records != spans_.slab().count()) return "a span is in no region";
  if (sums.blocks != map_.count()) return "the address map has a member too many";
  if (sums.allocated != stats.allocated_bytes.load()) return "allocated bytes are miscounted";
  if (sums.live != stats.live_blocks.load()) return "live blocks are miscounted";
  if (sums.pending != stats.pending_bytes.load()) return "pending bytes are miscounted";
  if (sums.quick != bins_.bytes()) return "the bins' bytes are miscounted";
  if (sums.free_bytes != spans_.free_bytes()) return "free bytes are miscounted";
  if (sums.hole_bytes != spans_.hole_bytes()) return "holes are miscounted";
  return nullptr;
}

}  // namespace vramstow
