// Accumulation: whether a later step of an optimizer may still need a gradient.
//
// Idea: a program that accumulates gradients calls backward() several times before one step. Until
// that step, the gradients of the earlier passes are needed. Steps are known from marks and from
// the memory that optimizers allocate. If none is known, each of the program's own marks for an
// iteration counts as one. Without any of these, a gradient may always be needed.
//
// Ownership: refers to a Detail, which outlives it. Threads: const functions may be called at the
// same time. Errors: none. Units: events, counted from 1.
#ifndef VRAMSTOW_TOOLS_ANALYSIS_ADVICE_ACCUMULATION_H_
#define VRAMSTOW_TOOLS_ANALYSIS_ADVICE_ACCUMULATION_H_

#include <cstdint>
#include <vector>

#include "tools/analysis/facts/detail.h"
#include "tools/analysis/facts/facts.h"

namespace vramstow {

class Accumulation {
 public:
  Accumulation(const Detail& detail, const Facts& facts);

  // True if an optimizer made a step after this gradient was allocated and before the event.
  bool IsUsed(const Life& gradient, uint64_t event) const;
  // True if a backward pass was over at the event that belongs to the same step as the work of this
  // event. Its gradients are live in any case, even if those of earlier steps were released.
  bool AddsUp(uint64_t event) const;

 private:
  const Detail& detail_;
  std::vector<uint64_t> steps_;  // in order
};

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_ANALYSIS_ADVICE_ACCUMULATION_H_
