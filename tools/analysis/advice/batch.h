// Batch: finds results that do not grow with the batch, and a batch that is far larger than all
// earlier ones.
//
// Idea: a census (a reference scan) has the shapes of live tensors. The first extent of the tensor
// that was copied to the GPU last is the batch size, unless this extent also has another meaning. A
// result grows with the batch if one of its extents is the batch size, or a multiple of it that
// neither the input nor a parameter explains.
//
// Ownership: plain values. Threads: pure functions, callable from any thread. Errors: none; without
// a census nothing is found. Units: blocks.
#ifndef VRAMSTOW_TOOLS_ANALYSIS_ADVICE_BATCH_H_
#define VRAMSTOW_TOOLS_ANALYSIS_ADVICE_BATCH_H_

#include <cstdint>
#include <string>
#include <vector>

#include "tools/analysis/explain/failure_moment.h"

namespace vramstow {

// Returns the blocks whose shape is known and does not contain the batch size.
std::vector<const Life*> WithoutBatch(const FailureMoment& moment,
                                      const std::vector<const Life*>& lives);

// Returns a sentence to append to another action, about a batch that is padded to one long sample.
// The sentence is empty if earlier blocks of this line are not far smaller than `bytes`, or are too
// few to judge.
std::string IfPadded(const FailureMoment& moment, uint32_t site, uint64_t bytes);

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_ANALYSIS_ADVICE_BATCH_H_
