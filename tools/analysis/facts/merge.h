// Merge: the facts of several traces (ranks, processes) together.
//
// Idea: counts and totals add up. The peak of all is the sum of each one's own peak: what the
// machines must have room for; the peaks need not have been at the same moment, and no moment is
// given. A fact that has no meaning for several (timeline, fragmentation, largest blocks) stays
// empty.
//
// Ownership: copies. Threads: pure functions. Errors: none. Units: bytes.
#ifndef VRAMSTOW_TOOLS_ANALYSIS_FACTS_MERGE_H_
#define VRAMSTOW_TOOLS_ANALYSIS_FACTS_MERGE_H_

#include <vector>

#include "tools/analysis/facts/facts.h"

namespace vramstow {

// The total of one trace is that trace's facts. `traces` has at least one element; they are put in
// order of rank, those without a rank last, in the order given. A process that became another
// program before anything happened is there once.
FactSet MergeTraces(std::vector<Facts> traces);

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_ANALYSIS_FACTS_MERGE_H_
