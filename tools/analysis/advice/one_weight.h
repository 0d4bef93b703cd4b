// One weight: whether most of a model's parameters are a single matrix, and what makes it smaller.
//
// Ownership: copies. Threads: pure functions. Errors: none; where there is none the text is empty.
// Units: none.
#ifndef VRAMSTOW_TOOLS_ANALYSIS_ADVICE_ONE_WEIGHT_H_
#define VRAMSTOW_TOOLS_ANALYSIS_ADVICE_ONE_WEIGHT_H_

#include <string>

#include "tools/analysis/explain/failure_moment.h"

namespace vramstow {

// A sentence before others: "Most of it is one weight, net.fc1.weight …. Otherwise: ".
std::string AboutOneWeight(const FailureMoment& moment);

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_ANALYSIS_ADVICE_ONE_WEIGHT_H_
