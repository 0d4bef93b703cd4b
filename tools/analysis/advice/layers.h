// Layers: finds the activations of the current iteration, and the layers to which they belong.
//
// Idea: a checkpoint around a layer frees its activations until its own backward pass, and
// recomputes all of them then. So a checkpoint saves memory if several layers wait for their
// backward passes, and none if one layer has most of the activations. Modules distinguish layers by
// their numbers (blocks.3); without modules, the number of equal blocks that one line has made is
// the number of layers.
//
// Ownership: refers to a FailureMoment's lives. Threads: pure functions, callable from any thread.
// Errors: none; without a sign of several layers, there is one layer. Units: bytes.
#ifndef VRAMSTOW_TOOLS_ANALYSIS_ADVICE_LAYERS_H_
#define VRAMSTOW_TOOLS_ANALYSIS_ADVICE_LAYERS_H_

#include <cstddef>
#include <vector>

#include "tools/analysis/explain/failure_moment.h"
#include "tools/analysis/facts/change.h"

namespace vramstow {

// Returns the blocks of the current iteration that were allocated outside of backward passes and
// optimizer steps, and do not belong to a model.
std::vector<const Life*> ActivationsOf(const FailureMoment& moment);
// True if a backward pass may need `lives`: a graph holds them or, if their owner is unknown, the
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

// A batch that is far larger than all earlier ones.
struct UnevenBatch {
  // The most bytes that an earlier batch made on the same source lines. If this batch is not
  // complete, the bytes that an earlier one would have made up to the request. 0 if this batch is
  // not far larger, or if there was no earlier one.
  uint64_t usual_bytes = 0;
  // How many times as large its blocks are; 0 if all bytes of the batches were compared.
  double times = 0;
};
UnevenBatch UnevenBatchOf(const FailureMoment& moment, const std::vector<const Life*>& lives);
// True if most of these bytes are a few results of the same size. These are steps of one operation,
// for example of a softmax that the program writes as several operators.
bool AreStepsOfOne(const std::vector<const Life*>& lives);

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_ANALYSIS_ADVICE_LAYERS_H_
