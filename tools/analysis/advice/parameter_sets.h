// ParameterSets: the parameters of each model, by the lines that made them, and whether two such
// sets are copies of the same model.
//
// Idea: two sets of the same sizes may be one model twice, or two models of the same kind. The
// first is likely if a set was copied on the GPU, or if the program worked between the two. The
// program needs both if it trains both.
//
// Ownership: refers to a FailureMoment's lives. Threads: pure functions, callable from any thread.
// Errors: none; without call stacks there are no sets. Units: bytes; events are counted from 1.
#ifndef VRAMSTOW_TOOLS_ANALYSIS_ADVICE_PARAMETER_SETS_H_
#define VRAMSTOW_TOOLS_ANALYSIS_ADVICE_PARAMETER_SETS_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "tools/analysis/explain/failure_moment.h"

namespace vramstow {

inline constexpr size_t kLeastBlocks = 3;  // of a set

// Blocks that one line made one after the other: a model that was moved, copied or loaded.
struct ParameterSet {
  std::vector<const Life*> live;
  std::vector<uint64_t> sizes;  // sizes of these blocks and of the request, in order
  uint64_t bytes = 0;
};

// Returns the size that the program asked for, as PyTorch rounds it. A cached block may be larger,
// which differs from copy to copy.
uint64_t AskedSize(const Life& life);
std::vector<ParameterSet> ParameterSetsOf(const FailureMoment& moment);
// True if `later` has the same sizes as `first`, or has the first of them and is still being made.
bool Repeats(const ParameterSet& first, const ParameterSet& later);
// Returns the blocks that one line copied, if all of them have sizes of an earlier set: copies of
// its parameters, whatever was made between them.
std::vector<const Life*> CopiesOf(const FailureMoment& moment, const ParameterSet& set);
// True if the program computed anything between two events: after one model was complete, and
// before the next began. Layers of one network, and members of an ensemble that are made together,
// have no work between them.
bool HasWorkBetween(const FailureMoment& moment, uint64_t begin, uint64_t end);
// True if modules made both sets, one directly after the other: nothing shows that the later one is
// a copy.
bool AreMadeTogether(const FailureMoment& moment, const std::vector<const Life*>& first,
                     const std::vector<const Life*>& later);
// True if parameters of both sets have gradients or the state of an optimizer.
bool AreBothTrained(const FailureMoment& moment, const std::vector<const Life*>& first,
                    const std::vector<const Life*>& later);

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_ANALYSIS_ADVICE_PARAMETER_SETS_H_
