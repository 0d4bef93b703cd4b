// NoBackward: looks for signs that no backward pass will come.
//
// Ownership: plain values. Threads: pure functions, callable from any thread. Errors: none; if
// there is no such sign, the functions return false. Units: none.
#ifndef VRAMSTOW_TOOLS_ANALYSIS_ADVICE_NO_BACKWARD_H_
#define VRAMSTOW_TOOLS_ANALYSIS_ADVICE_NO_BACKWARD_H_

#include <string>

#include "tools/analysis/explain/failure_moment.h"

namespace vramstow {

// True if a backward pass has run before the request.
bool TrainsAnywhere(const FailureMoment& moment);
// True if the names of the functions that made the request say that they do not train.
bool IsCalledEvaluation(const FailureMoment& moment);
// True if no backward pass has run and the model is in eval() or in no optimizer. If no census (a
// reference scan) found the model's parameters, the names of the functions decide.
bool IsInferenceOnly(const FailureMoment& moment);
// Returns the sentence " Call it in the function that the thread runs, ..." if the request was made
// by another thread than the main one, whose torch.no_grad() has no effect there; else "".
std::string ForOtherThread(const FailureMoment& moment);

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_ANALYSIS_ADVICE_NO_BACKWARD_H_
