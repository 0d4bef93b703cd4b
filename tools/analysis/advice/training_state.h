// TrainingState: what backward passes and optimizers made, of what was live when a request failed.
//
// Ownership: refers to a FailureMoment's lives. Threads: pure functions. Errors: none. Units: none.
#ifndef VRAMSTOW_TOOLS_ANALYSIS_ADVICE_TRAINING_STATE_H_
#define VRAMSTOW_TOOLS_ANALYSIS_ADVICE_TRAINING_STATE_H_

#include <string>
#include <vector>

#include "tools/analysis/explain/failure_moment.h"

namespace vramstow {

// Whether it takes all parameters together.
bool IsForeach(const SiteDetail& site);
// Gradients that are there: as many bytes as the parameters that are trained.
std::vector<const Life*> Gradients(const FailureMoment& moment);
// The blocks of optimizers: those that a step needs for a moment, or those that they keep, which
// may come from a file.
std::vector<const Life*> OfOptimizer(const FailureMoment& moment, bool temporaries);
// The line that steps the optimizer which made these.
std::string PlaceOfStep(const FailureMoment& moment, const std::vector<const Life*>& lives);

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_ANALYSIS_ADVICE_TRAINING_STATE_H_
