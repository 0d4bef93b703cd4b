// Advise: why memory ran out, and what could be done.
//
// Ownership: reads a Detail and what explains it, fills `advice` and the stories of failures in the
// Facts. Threads: pure functions. Errors: none; where nothing is worth a sentence, there is none.
// Units: bytes. Cost: O(n log n) in the lives that were kept.
#ifndef VRAMSTOW_TOOLS_ANALYSIS_ADVICE_ADVISE_H_
#define VRAMSTOW_TOOLS_ANALYSIS_ADVICE_ADVISE_H_

#include <vector>

#include "tools/analysis/advice/cause.h"
#include "tools/analysis/explain/explain.h"
#include "tools/analysis/facts/detail.h"
#include "tools/analysis/facts/facts.h"

namespace vramstow {

// Both of what follows.
void Advise(const Detail& detail, const Explanation& explanation, Facts* facts);

// Needs what Explanation fills. The causes of a failure come first, then the most bytes. `causes`:
// of the last failure, in order.
std::vector<AdviceFacts> FindAdvice(const Detail& detail, const CategoryFinder& categories,
                                    const Facts& facts, const std::vector<Cause>& causes = {});

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_ANALYSIS_ADVICE_ADVISE_H_
