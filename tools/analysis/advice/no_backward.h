// NoBackward: what tells that no backward pass comes.
//
// Ownership: values. Threads: pure functions. Errors: none; false: it may come. Units: none.
#ifndef VRAMSTOW_TOOLS_ANALYSIS_ADVICE_NO_BACKWARD_H_
#define VRAMSTOW_TOOLS_ANALYSIS_ADVICE_NO_BACKWARD_H_

#include "tools/analysis/explain/failure_moment.h"

namespace vramstow {

// Whether one has run before the request.
bool TrainsAnywhere(const FailureMoment& moment);
// Whether the names of the functions that made the request say that they do not train.
bool IsCalledEvaluation(const FailureMoment& moment);
// No backward pass has run, and the model is in eval() or in no optimizer; where no census knows
// its parameters, the names of functions say what they do.
bool IsInferenceOnly(const FailureMoment& moment);

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_ANALYSIS_ADVICE_NO_BACKWARD_H_
