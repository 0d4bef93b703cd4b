// Layers: finds the activations of the current iteration, and the layers to which they belong.
//
// Idea: a checkpoint around a layer frees its activations until its own backward pass, and
// recomputes all of them then. So it saves memory if several layers wait, and none if one layer has
// most of it. Modules distinguish layers by their numbers (blocks.3); without modules, a line that
// has made several blocks of one size was run by as many layers.
//
// Ownership: refers to a FailureMoment's lives. Threads: pure functions, callable from any thread.
// Errors: none; if there is no sign of several layers, it is one layer. Units: bytes.
#ifndef VRAMSTOW_TOOLS_ANALYSIS_ADVICE_LAYERS_H_
#define VRAMSTOW_TOOLS_ANALYSIS_ADVICE_LAYERS_H_

#include <cstddef>
#include <vector>

#include "tools/analysis/explain/failure_moment.h"
#include "tools/analysis/facts/change.h"

namespace vramstow {

// Returns the blocks of the current iteration that were allocated outside of a backward pass and an
// optimizer, and do not belong to a model.
std::vector<const Life*> ActivationsOf(const FailureMoment& moment);
// True if a backward pass may need them: a graph holds them or, if their owner is unknown, the
// program has run a backward pass before.
bool MayBeNeeded(const FailureMoment& moment, const std::vector<const Life*>& lives);

// True if a function of torch.utils.checkpoint is in the call stack.
bool RunsInCheckpoint(const Detail& detail, const SiteDetail& site);
// True if a checkpoint recomputed the block in a backward pass.
bool IsRecomputed(const FailureMoment& moment, const Life& life);

// Returns the number of layers that made most of these blocks; `lives` must not be empty.
size_t CountLayers(const Detail& detail, const std::vector<const Life*>& lives);
// Returns the effect of a checkpoint around each layer. The largest layer stays live as a whole,
// because its own backward pass recomputes it. Of each other layer only the last result stays live,
// because it is the input of the next layer. The change is empty if there is only one layer.
Change WithCheckpoints(const Detail& detail, const std::vector<const Life*>& lives);
// One of several equal layers, with the activations that it stores for the backward pass.
struct RepeatedLayer {
  uint64_t begin = 0;  // the event at which it made the first of these
  // The activations of the layer except its last result, which is the input of the next layer.
  std::vector<const Life*> within;
};
// Equal layers that run one after the other, in their order; empty if there is no sign of such
// layers.
struct RepeatedLayers {
  std::vector<RepeatedLayer> list;
};
// `lives` are the activations of one forward pass, in order of birth.
RepeatedLayers FindRepeatedLayers(const Detail& detail, const std::vector<const Life*>& lives);

// Returns the most bytes that one earlier iteration made on the lines of these blocks, if this
// iteration made at least four times as much; 0 if it did not, or there was no earlier iteration.
uint64_t UsualOfUnevenBatch(const FailureMoment& moment, const std::vector<const Life*>& lives);
// True if most of these bytes are a few results of one size: steps of one operation, for example of
// a softmax that is written out.
bool AreStepsOfOne(const std::vector<const Life*>& lives);

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_ANALYSIS_ADVICE_LAYERS_H_
