// Explanation: from what was seen to why: iterations, lifetimes, what memory is for, holes and who
// fences them in, what came before the peak.
//
// Ownership: reads a Detail, which outlives it, and fills the part of the Facts that it explains.
// Threads: pure functions. Errors: none; what cannot be found is marked as not known. Units: bytes,
// nanoseconds, events. Cost: O(n log n) in the lives that were kept.
#ifndef VRAMSTOW_TOOLS_ANALYSIS_EXPLAIN_EXPLAIN_H_
#define VRAMSTOW_TOOLS_ANALYSIS_EXPLAIN_EXPLAIN_H_

#include <cstdint>
#include <vector>

#include "tools/analysis/explain/category_of.h"
#include "tools/analysis/explain/iterations.h"
#include "tools/analysis/facts/detail.h"
#include "tools/analysis/facts/facts.h"

namespace vramstow {

// All of the below, in their order; and what advice is made from, beside the facts.
class Explanation {
 public:
  Explanation(const Detail& detail, Facts* facts);

  const Iterations& passes() const { return passes_; }
  const CategoryFinder& categories() const { return categories_; }

 private:
  Iterations passes_;
  CategoryFinder categories_;
};

// The passes; where there are none, what recurs: sizes and sites that come again after a steady
// number of events.
IterationsFacts FindIterations(const Detail& detail, const Iterations& passes);

// What the program did one after the other: start-up, training, evaluation, generation, saving.
std::vector<PhaseFacts> FindPhases(const Detail& detail, const Iterations& passes);
// When an event was; of the end of the trace its last moment.
uint64_t TimeOfEvent(const Detail& detail, uint64_t event);

// What an iteration takes by the simulated card's clock.
ModelClockFacts FindModelClock(const Detail& detail, const IterationsFacts& iterations);

// Whether the job ran only because memory was moved, and what it needs.
void FindOffloadNeed(Facts* facts);

// Needs facts.iterations.
void ExplainLifetimes(const Detail& detail, Facts* facts);
ChurnFacts FindChurn(const Detail& detail);
BeforePeakFacts ExplainPeak(const Detail& detail, const Facts& facts);

// Fills the categories of facts.by_hour.
void NameGrowthByHour(const Detail& detail, const CategoryFinder& categories, Facts* facts);

// The free ranges at the peak.
void FindHoles(const Detail& detail, Facts* facts);

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_ANALYSIS_EXPLAIN_EXPLAIN_H_
