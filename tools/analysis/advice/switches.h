// Switches: options of PyTorch's functions that need less memory.
//
// Idea: call stacks and owners show which function of a library made blocks, or held them for a
// moment. If that function has an option that needs less memory, or another function does the same
// with less memory, this advice comes before general advice such as smaller pieces.
//
// Ownership: the results are copies. Threads: pure functions, callable from any thread. Errors:
// none; empty if no such function is known. Units: none.
#ifndef VRAMSTOW_TOOLS_ANALYSIS_ADVICE_SWITCHES_H_
#define VRAMSTOW_TOOLS_ANALYSIS_ADVICE_SWITCHES_H_

#include "tools/analysis/advice/cause.h"
#include "tools/analysis/explain/failure_moment.h"

namespace vramstow {

// If the cause is about large results, replaces its action by an option of the function that made
// them. Other causes are unchanged.
void DescribeSwitch(const FailureMoment& moment, Cause* cause);

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_ANALYSIS_ADVICE_SWITCHES_H_
