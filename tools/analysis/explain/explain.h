// Explanation: derives from the recorded data why memory was used: iterations, lifetimes, the
// purpose of memory, holes and the blocks around them, and what happened before the peak.
//
// Ownership: reads a Detail, which outlives it, and fills the part of the Facts that it explains.
// Threads: pure functions, callable from any thread. Errors: none; unknown values are marked as
// unknown. Units: bytes, nanoseconds, events. Cost: O(n log n) in the stored lives.
#ifndef VRAMSTOW_TOOLS_ANALYSIS_EXPLAIN_EXPLAIN_H_
#define VRAMSTOW_TOOLS_ANALYSIS_EXPLAIN_EXPLAIN_H_

#include <cstdint>
#include <vector>

#include "tools/analysis/explain/category_of.h"
#include "tools/analysis/explain/iterations.h"
#include "tools/analysis/facts/detail.h"
#include "tools/analysis/facts/facts.h"

namespace vramstow {

// Runs all functions below in their order, and holds the intermediate results that advice needs.
class Explanation {
 public:
  Explanation(const Detail& detail, Facts* facts);

  const Iterations& passes() const { return passes_; }
  const CategoryFinder& categories() const { return categories_; }

 private:
  Iterations passes_;
  CategoryFinder categories_;
};

// Returns the iterations. If there are none, returns recurring patterns: sizes and call sites that
// appear again after a steady number of events.
IterationsFacts FindIterations(const Detail& detail, const Iterations& passes);

// Returns the phases of the program, in order: start-up, training, evaluation, generation, saving.
std::vector<PhaseFacts> FindPhases(const Detail& detail, const Iterations& passes);
// Returns the time of an event. For the end of the trace, returns the last time in it.
uint64_t TimeOfEvent(const Detail& detail, uint64_t event);

// Returns the cost of an iteration by the simulated GPU's clock.
ModelClockFacts FindModelClock(const Detail& detail, const IterationsFacts& iterations);

// Finds whether the job ran only because memory was moved to the host, and how much memory it
// needs.
void FindOffloadNeed(Facts* facts);

// Fills in the lifetimes of blocks. facts.iterations must be filled in before.
void ExplainLifetimes(const Detail& detail, Facts* facts);
ChurnFacts FindChurn(const Detail& detail);
BeforePeakFacts ExplainPeak(const Detail& detail, const Facts& facts);

// Fills in the categories of the memory that grows by the hour (facts.by_hour).
void NameGrowthByHour(const Detail& detail, const CategoryFinder& categories, Facts* facts);

// Finds the free ranges at the peak.
void FindHoles(const Detail& detail, Facts* facts);

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_ANALYSIS_EXPLAIN_EXPLAIN_H_
