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

// True if one call at this site handles all parameters together, as PyTorch's foreach functions do.
bool IsForeach(const SiteDetail& site);
// Returns the live gradients: the tensors that backward passes made.
std::vector<const Life*> Gradients(const FailureMoment& moment);
// Returns the blocks of optimizers: with `temporaries` the temporary blocks of a step, otherwise
// the state that they store, which may come from a file.
std::vector<const Life*> OfOptimizer(const FailureMoment& moment, bool temporaries);
// True if most of these bytes are parts of tensors that are already divided among the ranks, as
// with FSDP2 and tensor parallelism.
bool AreSharded(const FailureMoment& moment, const std::vector<const Life*>& lives);
// Returns the line that steps the optimizer which made these blocks.
std::string PlaceOfStep(const FailureMoment& moment, const std::vector<const Life*>& lives);

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_ANALYSIS_ADVICE_TRAINING_STATE_H_
