// Explain: from what was seen to why: iterations, lifetimes, what memory is for, holes and who
// fences them in, what came before the peak, and what could be done.
//
// Ownership: reads a Detail, fills the part of the Facts that it explains. Threads: pure functions.
// Errors: none; what cannot be found is marked as not known. Units: bytes, nanoseconds, events.
// Cost: O(n log n) in the lives that were kept.
#ifndef VRAMSTOW_TOOLS_ANALYSIS_EXPLAIN_H_
#define VRAMSTOW_TOOLS_ANALYSIS_EXPLAIN_H_

#include <vector>

#include "tools/analysis/category_of.h"
#include "tools/analysis/causes/cause.h"
#include "tools/analysis/detail.h"
#include "tools/analysis/facts.h"
#include "tools/analysis/passes.h"

namespace vramstow {

// All of the below, in their order.
void Explain(const Detail& detail, Facts* facts);

// The passes; where there are none, what recurs: sizes and sites that come again after a steady
// number of events.
IterationsFacts FindIterations(const Detail& detail, const Passes& passes);

// Needs facts.iterations.
void ExplainLifetimes(const Detail& detail, Facts* facts);
ChurnFacts FindChurn(const Detail& detail);
BeforePeakFacts ExplainPeak(const Detail& detail, const Facts& facts);

// The free ranges at the peak.
void FindHoles(const Detail& detail, Facts* facts);

// Needs all of the above. What explains a failure first, then the most bytes. `causes`: of the last
// failure, in order.
std::vector<AdviceFacts> FindAdvice(const Detail& detail, const CategoryFinder& categories,
                                    const Facts& facts, const std::vector<Cause>& causes = {});

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_ANALYSIS_EXPLAIN_H_
