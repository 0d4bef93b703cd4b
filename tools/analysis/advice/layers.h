// Layers: the activations of the iteration that runs, and the layers to which they belong.
//
// Idea: a checkpoint around a layer drops its activations until its own backward pass, and makes
// all of them again for that. So it saves memory where several layers wait, and none where one
// layer has most of it. Modules tell layers apart by their numbers (blocks.3); without modules, a
// line that has made several blocks of one size was run by as many layers.
//
// Ownership: refers to a FailureMoment's lives. Threads: pure functions. Errors: none; where
// nothing tells, it is one layer. Units: bytes.
#ifndef VRAMSTOW_TOOLS_ANALYSIS_ADVICE_LAYERS_H_
#define VRAMSTOW_TOOLS_ANALYSIS_ADVICE_LAYERS_H_

#include <cstddef>
#include <vector>

#include "tools/analysis/explain/failure_moment.h"
#include "tools/analysis/facts/change.h"

namespace vramstow {

// Made in the iteration that runs, outside of a backward pass and of an optimizer, and no part of
// a model.
std::vector<const Life*> ActivationsOf(const FailureMoment& moment);
// Whether a backward pass may come that needs them: a graph has them, or where nobody knows what
// has them, the program has run a backward pass before.
bool MayBeNeeded(const FailureMoment& moment, const std::vector<const Life*>& lives);

// Whether a function of torch.utils.checkpoint stands in the call stack.
bool RunsInCheckpoint(const Detail& detail, const SiteDetail& site);
// A checkpoint made it again in a backward pass.
bool IsRecomputed(const FailureMoment& moment, const Life& life);

// How many layers have made most of these. Not for no blocks.
size_t CountLayers(const Detail& detail, const std::vector<const Life*>& lives);
// What is changed by a checkpoint around each layer: the layer with most stays, because its own
// backward pass makes it again, and of each other layer its last result, which is the input of the
// next one. Nothing: there is one layer only.
Change WithCheckpoints(const Detail& detail, const std::vector<const Life*>& lives);
// One of several layers alike, with the activations that it keeps for the backward pass.
struct RepeatedLayer {
  uint64_t begin = 0;               // when it made the first of these
  std::vector<const Life*> within;  // all but its last result, which is the next one's input
};
// Layers that do the same one after the other, in their order. Empty: nothing tells that there are.
struct RepeatedLayers {
  std::vector<RepeatedLayer> list;
};
// The activations are those of one forward pass, by birth.
RepeatedLayers FindRepeatedLayers(const Detail& detail, const std::vector<const Life*>& lives);

// The most that one earlier iteration made on the lines of these blocks, if this iteration made at
// least four times as much; 0: it did not, or there was no earlier iteration.
uint64_t UsualOfUnevenBatch(const FailureMoment& moment, const std::vector<const Life*>& lives);
// Whether most of these bytes are a few results of one size: steps of one operation, as a softmax
// that is written out.
bool AreStepsOfOne(const std::vector<const Life*>& lives);

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_ANALYSIS_ADVICE_LAYERS_H_
