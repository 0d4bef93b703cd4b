// OtherAllocator: what serves the same requests better, as a sentence and as a change.
//
// Ownership: copies. Threads: pure functions. Errors: none; of vramstow's pool there is none that
// serves better. Units: none.
#ifndef VRAMSTOW_TOOLS_ANALYSIS_ADVICE_OTHER_ALLOCATOR_H_
#define VRAMSTOW_TOOLS_ANALYSIS_ADVICE_OTHER_ALLOCATOR_H_

#include <string>

#include "tools/analysis/advice/evidence.h"
#include "tools/analysis/facts/advice_facts.h"

namespace vramstow {

// Where free memory lies in pieces.
std::string OtherAllocator(const Evidence& evidence);
std::string CostOfOtherAllocator(const Evidence& evidence);
Change UseOtherAllocator(const Evidence& evidence, const AdviceFacts& advice);
// The memory that the same allocator gives back by itself before a request fails.
Change GiveBackCache(const Evidence& evidence, const AdviceFacts& advice);

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_ANALYSIS_ADVICE_OTHER_ALLOCATOR_H_
