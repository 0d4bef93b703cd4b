// Keepers: advice about the owner of tensors. It depends on the kind of the owner: a cache, a
// queue, a hook.
// Idea: a census (a reference scan) found the chain of references from the program to the tensors.
// If one link of the chain is an object of Python's or PyTorch's library, that library has a
// setting for it.
// Ownership: the results are copies. Threads: pure functions, callable from any thread. Errors:
// none; the text is empty if the chain shows no known kind of owner. Units: none.
#ifndef VRAMSTOW_TOOLS_ANALYSIS_ADVICE_KEEPERS_H_
#define VRAMSTOW_TOOLS_ANALYSIS_ADVICE_KEEPERS_H_

#include <string>
#include <string_view>
#include <vector>

#include "tools/analysis/advice/cause.h"
#include "tools/analysis/explain/failure_moment.h"

namespace vramstow {

// Returns a sentence that ends with a full stop; empty if there is no advice.
std::string AdviceForOwner(std::string_view holder);
// Fills in the action for results that the program still references, and the cost of that action.
void DescribeResults(const FailureMoment& moment, const std::vector<const Life*>& lives,
                     Cause* cause);

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_ANALYSIS_ADVICE_KEEPERS_H_
