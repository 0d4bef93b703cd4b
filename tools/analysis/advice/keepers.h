// Keepers: what to do about what keeps tensors, by its kind: a cache, a queue, a hook.
//
// Idea: a census told the chain from the program to the tensors. Where a step of it is one of
// Python's or PyTorch's own tools, that tool has a switch.
//
// Ownership: copies. Threads: pure functions. Errors: none; empty where the chain tells no kind.
// Units: none.
#ifndef VRAMSTOW_TOOLS_ANALYSIS_ADVICE_KEEPERS_H_
#define VRAMSTOW_TOOLS_ANALYSIS_ADVICE_KEEPERS_H_

#include <string>
#include <string_view>
#include <vector>

#include "tools/analysis/advice/cause.h"
#include "tools/analysis/explain/failure_moment.h"

namespace vramstow {

// A sentence that ends with a point.
std::string AdviceForOwner(std::string_view holder);
// Says what to do, and what it costs, where results stay that the program holds.
void TellOfResults(const FailureMoment& moment, const std::vector<const Life*>& lives,
                   Cause* cause);

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_ANALYSIS_ADVICE_KEEPERS_H_
