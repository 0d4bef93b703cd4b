// CompareRanks: the ranks of a job beside one another: who is the straggler in memory, and why.
//
// Idea: ranks of a parallel job mostly do the same, so the median is what a rank needs and what is
// above it needs a reason. The straggler is the rank with the highest peak of reserved memory,
// because that is the one that runs out first; the reason is looked for in the call sites that held
// more at its peak than at the median rank's.
//
// Ownership: copies. Threads: pure functions. Errors: none. Units: bytes.
#ifndef VRAMSTOW_TOOLS_ANALYSIS_FACTS_COMPARE_RANKS_H_
#define VRAMSTOW_TOOLS_ANALYSIS_FACTS_COMPARE_RANKS_H_

#include <optional>
#include <vector>

#include "tools/analysis/facts/facts.h"

namespace vramstow {

// Compares traces that name their rank; several processes of one rank are added, as MergeTraces
// does. Nothing where fewer than two ranks are named.
std::optional<RankComparison> CompareRanks(const std::vector<Facts>& traces);

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_ANALYSIS_FACTS_COMPARE_RANKS_H_
