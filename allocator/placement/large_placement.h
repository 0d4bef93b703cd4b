// LargePlacement: chooses where a large block of one heap goes. The heap cuts it there.
//
// Idea: a block goes where it opens the fewest whole free pages, because whole pages are what can
// be moved; in a job that repeats it goes where it lay in the round before, if that is free. A
// block whose place is taken goes where the round needs the memory least while the block lives.
//
// Ownership: what it has learned. Threads: the heap's lock. Errors: none. Units: bytes.
#ifndef VRAMSTOW_ALLOCATOR_PLACEMENT_LARGE_PLACEMENT_H_
#define VRAMSTOW_ALLOCATOR_PLACEMENT_LARGE_PLACEMENT_H_

#include <cstdint>

#include "allocator/heap/span_table.h"
#include "allocator/physical/address_space.h"
#include "allocator/placement/lookahead_budget.h"
#include "allocator/placement/placement_predictor.h"

namespace vramstow {

class LargePlacement {
 public:
  struct Choice {
    uint32_t span;    // a free span; 0: the block is not to be served from free memory
    uint64_t offset;  // of the block within it
  };

  // `may_free_up`: blocks that were freed wait for work, and may be free soon.
  Choice Choose(const SpanTable& spans, AddressSpace* space, uint64_t size, bool may_free_up);
  // Where in this free span a block opens the fewest whole pages.
  static uint64_t OffsetIn(const SpanTable& spans, uint32_t index, uint64_t size);

  PlacementPredictor& predictor() { return predictor_; }
  const PlacementPredictor& predictor() const { return predictor_; }
  LookaheadBudget& budget() { return budget_; }

 private:
  struct Fit {
    uint64_t offset;
    uint64_t pages;  // whole free pages that the block would open
  };

  static Fit FitIn(const SpanTable& spans, const Span& span, uint64_t size);
  static uint32_t FindBest(const SpanTable& spans, uint64_t size);
  static uint32_t FindHolding(const SpanTable& spans, uint64_t size, uint64_t place);
  uint32_t FindQuiet(const SpanTable& spans, uint64_t size, uint64_t pages, uint64_t* place);
  // Where `best` would be taken but for the job that repeats, and `place` is predicted.
  Choice ChooseRepeated(const SpanTable& spans, AddressSpace* space, uint64_t size, uint64_t place,
                        uint32_t best, bool may_free_up);

  PlacementPredictor predictor_;
  LookaheadBudget budget_;
};

}  // namespace vramstow

#endif  // VRAMSTOW_ALLOCATOR_PLACEMENT_LARGE_PLACEMENT_H_
