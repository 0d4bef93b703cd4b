// TrainingState: the blocks made by backward passes and optimizers among those that were live when
// a request failed.
//
// Ownership: refers to a FailureMoment's lives. Threads: pure functions, callable from any thread.
// Errors: none. Units: none.
#ifndef VRAMSTOW_TOOLS_ANALYSIS_ADVICE_TRAINING_STATE_H_
#define VRAMSTOW_TOOLS_ANALYSIS_ADVICE_TRAINING_STATE_H_

#include <string>
#include <vector>

#include "tools/analysis/explain/failure_moment.h"

namespace vramstow {

// True if the call site handles all parameters together.
bool IsForeach(const SiteDetail& site);
// Returns the live gradients: as many bytes as the trained parameters have.
std::vector<const Life*> Gradients(const FailureMoment& moment);
// Returns the blocks of optimizers: the temporary ones of a step, or the state that they store,
// which may come from a file.
std::vector<const Life*> OfOptimizer(const FailureMoment& moment, bool temporaries);
// Returns the line that steps the optimizer which made these blocks.
std::string PlaceOfStep(const FailureMoment& moment, const std::vector<const Life*>& lives);

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_ANALYSIS_ADVICE_TRAINING_STATE_H_
