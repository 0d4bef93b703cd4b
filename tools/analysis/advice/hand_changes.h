// FindHandChanges: with which changes of the program, made by hand, a job that ran only because
// memory was moved would fit, and what each costs.
//
// Idea: each change makes tensors smaller, or lets them be away for a while, so what the job then
// needs follows from their lives: in the iteration with the peak, and in a later one that has all
// of the optimizer's state. The smallest change that fits is taken of each kind.
//
// Fills what moves cost, too, also where the job would live without.
//
// Ownership: fills Facts::offload. Threads: pure functions. Errors: none; where nothing is known of
// iterations or of what blocks are for, there are no changes. Units: bytes. Cost: O(n log n) in the
// lives that were kept, a few dozen times, and only for a job that lives by moves.
#ifndef VRAMSTOW_TOOLS_ANALYSIS_ADVICE_HAND_CHANGES_H_
#define VRAMSTOW_TOOLS_ANALYSIS_ADVICE_HAND_CHANGES_H_

#include "tools/analysis/explain/category_of.h"
#include "tools/analysis/facts/detail.h"
#include "tools/analysis/facts/facts.h"

namespace vramstow {

// Needs what Explanation fills.
void FindHandChanges(const Detail& detail, const CategoryFinder& categories, Facts* facts);

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_ANALYSIS_ADVICE_HAND_CHANGES_H_
