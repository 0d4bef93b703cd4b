// FindCauses: the story of each out-of-memory: what was live, what was lacking, and why.
//
// Ownership: fills Facts. Threads: a pure function. Errors: none; without call stacks few causes
// can be told. Units: bytes. Cost: O(lives) for each of the last kMaxStories failures.
#ifndef VRAMSTOW_TOOLS_ANALYSIS_ADVICE_FIND_CAUSES_H_
#define VRAMSTOW_TOOLS_ANALYSIS_ADVICE_FIND_CAUSES_H_

#include <vector>

#include "tools/analysis/advice/cause.h"
#include "tools/analysis/explain/category_of.h"
#include "tools/analysis/facts/detail.h"
#include "tools/analysis/facts/facts.h"

namespace vramstow {

inline constexpr size_t kMaxStories = 10;

// Why the request failed, the likeliest first: what alone would have made it fit comes before what
// would not, and what costs nothing to mend before what is a trade.
std::vector<Cause> FindCauses(const FailureMoment& moment);

// Fills `demand`, `cause` and `would_fit` of the out-of-memory events, of the last ones if there
// are many. Returns the causes of the last one.
std::vector<Cause> ExplainOutOfMemory(const Detail& detail, const Iterations& passes,
                                      const CategoryFinder& categories, Facts* facts);

// Of a job that lived: the causes that are looked for at its peak (Rule::at_peak), where they hold
// a quarter of it. The peak may be near a card's end, and the next card may be smaller.
std::vector<Cause> FindCausesAtPeak(const Detail& detail, const Iterations& passes,
                                    const CategoryFinder& categories, const Facts& facts);

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_ANALYSIS_ADVICE_FIND_CAUSES_H_
