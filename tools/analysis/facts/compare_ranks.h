// CompareRanks: compares the ranks of a job, and finds the one that needs most memory, and why.
//
// Idea: the ranks of a parallel job mostly do the same work. So the median is the normal need of a
// rank, and there is a reason if one rank needs more. The straggler is the rank with the highest
// peak of reserved memory, because it runs out of memory first. The reason is searched in the call
// sites that held more at the peak of the straggler than at the peak of the median rank.
//
// Ownership: the results are copies. Threads: pure functions, callable from any thread. Errors:
// none. Units: bytes.
#ifndef VRAMSTOW_TOOLS_ANALYSIS_FACTS_COMPARE_RANKS_H_
#define VRAMSTOW_TOOLS_ANALYSIS_FACTS_COMPARE_RANKS_H_

#include <optional>
#include <vector>

#include "tools/analysis/facts/facts.h"

namespace vramstow {

// Compares traces that name their rank. The processes of one rank that ran at the same time are
// added up; of several attempts, the highest is compared. A rank whose recording lacks events may
// have needed more than its figures say, so no straggler is named from a comparison with it.
// Returns nullopt if the traces name fewer than two ranks.
std::optional<RankComparison> CompareRanks(const std::vector<Facts>& traces);

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_ANALYSIS_FACTS_COMPARE_RANKS_H_
