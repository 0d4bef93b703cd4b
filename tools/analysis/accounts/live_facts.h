// LiveFacts: facts about live blocks: the largest at the peak, and groups of the blocks that are
// left at the end.
//
// Ownership: the results are copies. Threads: pure functions, callable from any thread. Errors:
// none. Units: bytes.
#ifndef VRAMSTOW_TOOLS_ANALYSIS_ACCOUNTS_LIVE_FACTS_H_
#define VRAMSTOW_TOOLS_ANALYSIS_ACCOUNTS_LIVE_FACTS_H_

#include <functional>

#include "tools/analysis/accounts/event_source.h"
#include "tools/analysis/accounts/levels.h"
#include "tools/analysis/accounts/live_block.h"
#include "tools/analysis/facts/facts.h"

namespace vramstow {

// A function that calls its argument with each live block.
using ForEachBlock = std::function<void(const std::function<void(const LiveBlock&)>&)>;

// Fills Facts::largest_at_peak.
void FillPeakBlocks(const Levels& levels, const ForEachBlock& for_each_live,
                    const EventSource& source, Facts* facts);
// Fills Facts::live.
void FillLive(const ForEachBlock& for_each_live, const EventSource& source, Facts* facts);

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_ANALYSIS_ACCOUNTS_LIVE_FACTS_H_
