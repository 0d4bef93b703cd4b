// OtherAllocator: describes an allocator that serves the same requests better, as a sentence and as
// a change.
//
// Ownership: the results are copies. Threads: pure functions, callable from any thread. Errors:
// none; nothing serves better than vramstow's own pool. Units: none.
#ifndef VRAMSTOW_TOOLS_ANALYSIS_ADVICE_OTHER_ALLOCATOR_H_
#define VRAMSTOW_TOOLS_ANALYSIS_ADVICE_OTHER_ALLOCATOR_H_

#include <string>

#include "tools/analysis/advice/evidence.h"
#include "tools/analysis/facts/advice_facts.h"

namespace vramstow {

// Returns advice for fragmented free memory.
std::string OtherAllocator(const Evidence& evidence);
std::string CostOfOtherAllocator(const Evidence& evidence);
// Changes advice for fragmented free memory so that it names only vramstow's pool. A replay has
// shown that expandable segments would not serve the request, and that the pool would.
void RecommendThePoolAlone(AdviceFacts* advice);
Change UseOtherAllocator(const Evidence& evidence, const AdviceFacts& advice);
// Returns the change in which the same allocator releases its cached memory before a request fails.
Change GiveBackCache(const Evidence& evidence, const AdviceFacts& advice);

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_ANALYSIS_ADVICE_OTHER_ALLOCATOR_H_
