// FindHandChanges: finds changes of the program that a user can make by hand, for a job that ran
// only because memory was moved to the host. With such a change the job would fit on the GPU. Also
// finds what each change costs.
//
// Idea: each change makes tensors smaller, or lets them be freed or evicted for a while, so the
// resulting need follows from their lives: in the iteration with the peak, and in a later one that
// has all of the optimizer's state. Of each kind of change, the smallest that fits is chosen.
//
// It also computes the cost of the moves, even if the job would fit without them.
//
// Ownership: fills Facts::offload. Threads: pure functions, callable from any thread. Errors: none;
// there are no changes if iterations or the purpose of blocks are unknown. Units: bytes. Cost: O(n
// log n) in the stored lives, a few dozen times, and only for a job that depends on moves.
#ifndef VRAMSTOW_TOOLS_ANALYSIS_ADVICE_HAND_CHANGES_H_
#define VRAMSTOW_TOOLS_ANALYSIS_ADVICE_HAND_CHANGES_H_

#include "tools/analysis/explain/category_of.h"
#include "tools/analysis/facts/detail.h"
#include "tools/analysis/facts/facts.h"

namespace vramstow {

// Needs the results of Explanation.
void FindHandChanges(const Detail& detail, const CategoryFinder& categories, Facts* facts);

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_ANALYSIS_ADVICE_HAND_CHANGES_H_
