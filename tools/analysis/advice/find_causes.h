// FindCauses: explains each out-of-memory: what was live, how much was lacking, and why.
//
// Ownership: fills Facts. Threads: a pure function, callable from any thread. Errors: none; without
// call stacks few causes can be found. Units: bytes. Cost: O(lives) for each of the last
// kMaxStories failures.
#ifndef VRAMSTOW_TOOLS_ANALYSIS_ADVICE_FIND_CAUSES_H_
#define VRAMSTOW_TOOLS_ANALYSIS_ADVICE_FIND_CAUSES_H_

#include <vector>

#include "tools/analysis/advice/cause.h"
#include "tools/analysis/explain/category_of.h"
#include "tools/analysis/facts/detail.h"
#include "tools/analysis/facts/facts.h"

namespace vramstow {

inline constexpr size_t kMaxStories = 10;

// Fills `demand`, `cause` and `would_fit` of the out-of-memory events. If there are many events,
// only the last ones are filled in. Returns the causes of the last event.
std::vector<Cause> ExplainOutOfMemory(const Detail& detail, const Iterations& passes,
                                      const CategoryFinder& categories, Facts* facts);

// For a job that did not fail: returns the causes that are searched at its peak (Rule::at_peak), if
// they hold a quarter of it. The peak may be close to the size of the GPU, and the next GPU may be
// smaller.
std::vector<Cause> FindCausesAtPeak(const Detail& detail, const Iterations& passes,
                                    const CategoryFinder& categories, const Facts& facts);

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_ANALYSIS_ADVICE_FIND_CAUSES_H_
