// The invariants of a heap, for VRAMSTOW_CHECK and for every test.
#include "allocator/heap/heap.h"

namespace vramstow {

uint64_t Heap::BackedBytes() const {
  uint64_t backed = 0;
  for (uint32_t r = 0; r < region_count_; ++r) {
    for (uint64_t at = 0; at < regions_[r].size; at += with_.page_bytes) {
      if (with_.space->PageAt(regions_[r].address + at).chunk != 0) backed += with_.page_bytes;
    }
  }
  return backed;
}

const char* Heap::Check() const {
  uint64_t allocated = 0;
  uint64_t live = 0;
  uint64_t pending = 0;
  uint64_t quick = 0;
  uint64_t free_bytes = 0;
  uint64_t hole_bytes = 0;
  uint32_t in_map = 0;
  uint32_t records = 0;
  const uint64_t page = with_.page_bytes;
  for (uint32_t r = 0; r < region_count_; ++r) {
    const Region& region = regions_[r];
    uint64_t expected = region.address;
    uint32_t previous = 0;
    for (uint32_t i = region.first; i != 0; i = spans_[i].next) {
      const Span& span = spans_[i];
      ++records;
      if (span.address != expected) return "spans of a region leave a gap or overlap";
      if (span.previous != previous) return "a span's link to the one below is wrong";
      if (span.size == 0 || span.size % kBlockBytes != 0) return "a span's size is odd";
      if (span.zone != region.zone) return "a span is in the wrong zone";
      const SpanState before = previous != 0 ? spans_[previous].state : SpanState::kNone;
      switch (span.state) {
        case SpanState::kLive:
          allocated += span.size;
          ++live;
          if (span.requested > span.size) return "a block is smaller than what was asked for";
          if (tracks_ && bits_.Covers(span.address) && !bits_.Test(span.address)) {
            return "a live block's bit is not set";
          }
          break;
        case SpanState::kPending:
          pending += span.size;
          break;
        case SpanState::kQuick:
          quick += span.size;
          break;
        case SpanState::kFree:
          free_bytes += span.size;
          if (before == SpanState::kFree) return "two free spans side by side";
          break;
        case SpanState::kHole:
          hole_bytes += span.size;
          if (span.address % page != 0 || span.size % page != 0) return "a hole ends within a page";
          if (before == SpanState::kHole) return "two holes side by side";
          break;
        case SpanState::kNone:
          return "a span has no state";
      }
      if (span.state != SpanState::kLive && bits_.Test(span.address)) {
        return "a bit says that a block is live which is not";
      }
      if (span.state != SpanState::kHole) {
        for (uint64_t at = PageDown(span.address); at < span.address + span.size; at += page) {
          if (with_.space->PageAt(at).chunk == 0) return "a span lies on a page without a chunk";
        }
      }
      if (span.state != SpanState::kFree && span.state != SpanState::kHole) {
        ++in_map;
        if (map_.Find(span.address, spans_) != i) return "a block is not found by its address";
      }
      if (with_.space->HeapOf(span.address) != number) return "an address leads to another heap";
      expected += span.size;
      previous = i;
    }
    if (expected != region.address + region.size) return "spans do not fill their region";
  }
  if (records != spans_.count()) return "a span is in no region";
  if (in_map != map_.count()) return "the address map has a member too many";
  if (allocated != stats.allocated_bytes.load()) return "allocated bytes are miscounted";
  if (live != stats.live_blocks.load()) return "live blocks are miscounted";
  if (pending != stats.pending_bytes.load()) return "pending bytes are miscounted";
  if (quick != quick_bytes_) return "the bins' bytes are miscounted";
  if (free_bytes != zones_[0].free.bytes() + zones_[1].free.bytes()) {
    return "free bytes are miscounted";
  }
  if (hole_bytes != zones_[0].holes.bytes() + zones_[1].holes.bytes()) {
    return "holes are miscounted";
  }
  return nullptr;
}

}  // namespace vramstow
