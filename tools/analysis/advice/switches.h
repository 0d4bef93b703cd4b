// Switches: what a function of PyTorch's offers to need less memory.
//
// Idea: call stacks and holders tell which function of a library made blocks, or kept them for a
// moment. Where that function has a switch, or another function does the same with less, that comes
// before what helps everywhere (smaller pieces).
//
// Ownership: copies. Threads: pure functions. Errors: none; empty where no such function is known.
// Units: none.
#ifndef VRAMSTOW_TOOLS_ANALYSIS_ADVICE_SWITCHES_H_
#define VRAMSTOW_TOOLS_ANALYSIS_ADVICE_SWITCHES_H_

#include "tools/analysis/advice/cause.h"
#include "tools/analysis/explain/failure_moment.h"

namespace vramstow {

// Says it in place of the action of a cause that is about large results; leaves all others.
void TellOfSwitch(const FailureMoment& moment, Cause* cause);

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_ANALYSIS_ADVICE_SWITCHES_H_
