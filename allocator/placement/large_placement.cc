#include "allocator/placement/large_placement.h"

#include <algorithm>

namespace vramstow {
namespace {

// True if [place, place + size) lies in the span, which is at least `size` bytes large.
bool Holds(const Span& span, uint64_t place, uint64_t size) {
  return place - span.address <= span.size - size;
}

// True if a page of the address range has no chunk now. Another thread cannot change this
// meanwhile: the pages of a heap's own regions change only under the heap's lock.
bool HasMoved(const SpanTable& spans, AddressSpace* space, uint64_t place, uint64_t size) {
  const uint64_t end = place + size;
  for (uint64_t at = spans.PageDown(place); at < end; at += spans.page_bytes()) {
    if (space->PageAt(at).chunk == 0) return true;
  }
  return false;
}

}  // namespace

// Chooses whether the block lies at the span's start, at its end, or at its first page boundary.
[[gnu::always_inline]] inline LargePlacement::Fit LargePlacement::FitIn(const SpanTable& spans,
                                                                        const Span& span,
                                                                        uint64_t size) {
  const uint64_t slack = span.size - size;
  const uint64_t end = span.address + span.size;
  const uint64_t first = spans.PageUp(span.address);
  // `last` is not below `first`, so that the differences below are never negative.
  const uint64_t last = std::max(spans.PageDown(end), first);
  const uint64_t low_end = std::max(std::min(spans.PageUp(span.address + size), last), first);
  const uint64_t high_start = std::min(std::max(spans.PageDown(end - size), first), last);
  const uint64_t at_start = (low_end - first) >> spans.page_shift();
  const uint64_t at_end = (last - high_start) >> spans.page_shift();
  const bool high = at_end < at_start;
  const Fit fit{high ? slack : 0, high ? at_end : at_start};
  if (spans.PageDown(size) != size) return fit;
  // A block of whole pages at a page boundary wastes nothing, and frees whole pages when it is
  // freed.
  const uint64_t gap = first - span.address;
  const uint64_t whole = size >> spans.page_shift();
  return gap <= slack && whole <= fit.pages && last > first ? Fit{gap, whole} : fit;
}

uint64_t LargePlacement::OffsetIn(const SpanTable& spans, uint32_t index, uint64_t size) {
  return spans[index].size != size ? FitIn(spans, spans[index], size).offset : 0;
}

// Returns the free span in which the block breaks up the fewest whole free pages. Of equal spans it
// takes the one at the lowest address, so that a repeating job finds the same addresses again. To
// bound the time it examines only a few of the smallest spans that are large enough.
uint32_t LargePlacement::FindBest(const SpanTable& spans, uint64_t size) {
  constexpr int kLooks = 6;
  constexpr int kPagesShift = 40;  // above an address in units of kBlockBytes
  // A block of this size breaks up at least `least` whole pages, wherever it lies.
  const uint64_t pages = size >> spans.page_shift();
  const uint64_t least = pages > 0 ? pages - 1 : 0;
  const uint64_t enough = (least + 1) << kPagesShift;
  const SpanIndex& free = spans.free(SpanTable::kLargeZone);
  return free.FindBest(spans.slab(), size, kLooks, enough, [&](const Span& span) {
    const uint64_t place = span.address / kBlockBytes & ((uint64_t{1} << kPagesShift) - 1);
    return FitIn(spans, span, size).pages << kPagesShift | place;
  });
}

// Returns the free span that contains [place, place + size), or 0. To bound the time it examines at
// most kMaxLooks spans.
uint32_t LargePlacement::FindHolding(const SpanTable& spans, uint64_t size, uint64_t place) {
  constexpr int kMaxLooks = 256;
  uint32_t found = 0;
  int looks = 0;
  spans.free(SpanTable::kLargeZone).VisitFrom(spans.slab(), size, [&](uint32_t index) {
    if (Holds(spans[index], place, size)) found = index;
    return found == 0 && ++looks < kMaxLooks;
  });
  return found;
}

// Finds an address for a request that cannot lie where it lay in the previous iteration. It looks
// for free memory that the iteration uses as little as possible while the block lives, so that the
// block displaces no other, and where the block breaks up at most `pages` whole free pages. Returns
// the span that contains the address, or 0.
uint32_t LargePlacement::FindQuiet(const SpanTable& spans, uint64_t size, uint64_t pages,
                                   uint64_t* place) {
  constexpr int kMaxLooks = 16;
  const uint64_t round = predictor_.round();
  if (!budget_.Spend(kMaxLooks * round, predictor_.count())) return 0;
  const uint64_t life = predictor_.Life();
  uint32_t best = 0;
  uint64_t least = ~uint64_t{0};
  int looks = 0;
  spans.free(SpanTable::kLargeZone).VisitFrom(spans.slab(), size, [&](uint32_t index) {
    const Span& span = spans[index];
    const Fit fit = FitIn(spans, span, size);
    if (fit.pages > pages) return true;
    const uint64_t from = span.address + fit.offset;
    uint64_t disturbed = 0;
    predictor_.VisitRound([&](uint64_t other, uint64_t at, uint64_t first, uint64_t last) {
      if (first == 0 || (first >= life && last <= round)) return;
      const uint64_t low = std::max(at, from);
      const uint64_t high = std::min(at + other, from + size);
      if (low < high) disturbed += high - low;
    });
    if (disturbed < least) {
      least = disturbed;
      best = index;
      *place = from;
    }
    return least != 0 && ++looks < kMaxLooks;
  });
  return best;
}

LargePlacement::Choice LargePlacement::ChooseRepeated(const SpanTable& spans, AddressSpace* space,
                                                      uint64_t size, uint64_t place, uint32_t best,
                                                      bool may_free_up) {
  // The best span often contains the address of the previous iteration, so that span is tested
  // first.
  const bool as_before = best != 0 && Holds(spans[best], place, size);
  uint32_t there = as_before ? best : FindHolding(spans, size, place);
  if (there == 0 && !HasMoved(spans, space, place, size)) {
    const uint64_t earlier = predictor_.Earlier();
    if (earlier != 0 && earlier != place) {
      there = FindHolding(spans, size, earlier);
      place = earlier;
    }
  }
  if (there != 0) {
    predictor_.OnHit();
    return {there, place - spans[there].address};
  }
  const bool confident = predictor_.Confident();
  // Returns no span, so that the caller tries to make the predicted address available. There are
  // two ways: its chunks have moved and may be returned without a driver call, or the block that
  // lies there was freed and its work may be done.
  if (confident && (HasMoved(spans, space, place, size) || may_free_up)) return {0, 0};
  Choice choice{best, best != 0 ? OffsetIn(spans, best, size) : 0};
  if (best != 0 && confident) {
    const uint32_t quiet = FindQuiet(spans, size, FitIn(spans, spans[best], size).pages, &place);
    if (quiet != 0) choice = {quiet, place - spans[quiet].address};
  }
  predictor_.OnMiss();
  return choice;
}

LargePlacement::Choice LargePlacement::Choose(const SpanTable& spans, AddressSpace* space,
                                              uint64_t size, bool may_free_up) {
  const uint64_t place = predictor_.Predict(size);
  const uint32_t best = FindBest(spans, size);
  if (place != 0 && predictor_.Repeating()) {
    return ChooseRepeated(spans, space, size, place, best, may_free_up);
  }
  return {best, best != 0 ? OffsetIn(spans, best, size) : 0};
}

}  // namespace vramstow
