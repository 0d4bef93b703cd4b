// OneWeight: checks whether most of a model's parameters are a single matrix, and says how to make
// it smaller.
//
// Ownership: the results are copies. Threads: pure functions, callable from any thread. Errors:
// none; the text is empty if there is no such matrix. Units: none.
#ifndef VRAMSTOW_TOOLS_ANALYSIS_ADVICE_ONE_WEIGHT_H_
#define VRAMSTOW_TOOLS_ANALYSIS_ADVICE_ONE_WEIGHT_H_

#include <string>

#include "tools/analysis/explain/failure_moment.h"

namespace vramstow {

// Returns a text to put before other advice. An example is "Most of it is one weight,
// net.fc1.weight …. Otherwise: ".
std::string AboutOneWeight(const FailureMoment& moment);

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_ANALYSIS_ADVICE_ONE_WEIGHT_H_
