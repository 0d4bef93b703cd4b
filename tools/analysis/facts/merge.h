// Merge: merges the facts of several traces (ranks, processes).
//
// Idea: counts and totals are added. The peak of all traces is the sum of their peaks, because the
// machines together must have this much memory. Of attempts of a rank that ran one after the other,
// only the highest is part of it. The peaks may be at different moments, so the merged peak has no
// moment. A fact that has no meaning for several traces (timeline,
// fragmentation, largest blocks) stays empty.
//
// Ownership: the results are copies. Threads: pure functions, callable from any thread. Errors:
// none. Units: bytes.
#ifndef VRAMSTOW_TOOLS_ANALYSIS_FACTS_MERGE_H_
#define VRAMSTOW_TOOLS_ANALYSIS_FACTS_MERGE_H_

#include <vector>

#include "tools/analysis/facts/facts.h"

namespace vramstow {

// Merges the traces; there must be at least one. If there is only one trace, the merged facts are
// its facts. The traces are sorted by rank; traces without a rank come last, in the order given. A
// process that became another program before any event is counted once.
FactSet MergeTraces(std::vector<Facts> traces);

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_ANALYSIS_FACTS_MERGE_H_
