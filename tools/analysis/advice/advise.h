// Advise: finds why memory ran out, and what could be done.
//
// Ownership: reads a Detail and its Explanation; fills the causes of failures in the Facts, and
// returns the advice. Threads: pure functions, callable from any thread. Errors: none; there is no
// advice if nothing is worth a sentence. Units: bytes. Cost: O(n log n) in the stored lives.
#ifndef VRAMSTOW_TOOLS_ANALYSIS_ADVICE_ADVISE_H_
#define VRAMSTOW_TOOLS_ANALYSIS_ADVICE_ADVISE_H_

#include <vector>

#include "tools/analysis/advice/cause.h"
#include "tools/analysis/explain/explain.h"
#include "tools/analysis/facts/detail.h"
#include "tools/analysis/facts/facts.h"

namespace vramstow {

// Finds the causes of failures and fills them into the Facts. Returns the advice, not yet proved by
// a replay.
std::vector<AdviceFacts> Advise(const Detail& detail, const Explanation& explanation, Facts* facts);

// Needs the results of Explanation. The causes of a failure come first, then other advice by bytes.
// `causes` are those of the last failure, in order.
std::vector<AdviceFacts> FindAdvice(const Detail& detail, const CategoryFinder& categories,
                                    const Facts& facts, const std::vector<Cause>& causes = {});

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_ANALYSIS_ADVICE_ADVISE_H_
