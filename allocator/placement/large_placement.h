// LargePlacement: chooses the address of a large block in one heap. The heap cuts the block there.
//
// Idea: a block goes where it breaks up the fewest whole free pages, because only whole pages can
// be moved. In a repeating job it goes where it lay in the previous iteration, if that address is
// free. Otherwise it goes where the iteration needs the memory least while the block lives.
//
// Ownership: the class owns what it has learned. Threads: the heap's lock. Errors: none. Units:
// bytes.
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
    uint32_t span;    // a free span; 0 if free memory must not serve the block
    uint64_t offset;  // of the block within the span
  };

  // Chooses a span and an offset in it; a span of 0 means none. `may_free_up` is true if freed
  // blocks wait for work and may be free soon.
  Choice Choose(const SpanTable& spans, AddressSpace* space, uint64_t size, bool may_free_up);
  // Returns the offset in this free span at which a block breaks up the fewest whole pages.
  static uint64_t OffsetIn(const SpanTable& spans, uint32_t index, uint64_t size);

  PlacementPredictor& predictor() { return predictor_; }
  const PlacementPredictor& predictor() const { return predictor_; }
  LookaheadBudget& budget() { return budget_; }

 private:
  struct Fit {
    uint64_t offset;
    uint64_t pages;  // whole free pages that the block would break up
  };

  static Fit FitIn(const SpanTable& spans, const Span& span, uint64_t size);
  static uint32_t FindBest(const SpanTable& spans, uint64_t size);
  static uint32_t FindHolding(const SpanTable& spans, uint64_t size, uint64_t place);
  uint32_t FindQuiet(const SpanTable& spans, uint64_t size, uint64_t pages, uint64_t* place);
  // Chooses for a repeating job: `place` is the predicted address, `best` is the span that would be
  // used without the prediction.
  Choice ChooseRepeated(const SpanTable& spans, AddressSpace* space, uint64_t size, uint64_t place,
                        uint32_t best, bool may_free_up);

  PlacementPredictor predictor_;
  LookaheadBudget budget_;
};

}  // namespace vramstow

#endif  // VRAMSTOW_ALLOCATOR_PLACEMENT_LARGE_PLACEMENT_H_
