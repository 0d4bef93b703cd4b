// Batch: which results do not grow with it, and whether this one is far larger than all before.
//
// Idea: a census tells the shapes of what was live. The first extent of what was copied to the card
// last is the batch, unless something else has this extent, too. A result has the batch in it if an
// extent is it, or a multiple of it that neither the input nor a parameter explains.
//
// Ownership: values. Threads: pure functions. Errors: none; without a census nothing is told.
// Units: blocks.
#ifndef VRAMSTOW_TOOLS_ANALYSIS_ADVICE_BATCH_H_
#define VRAMSTOW_TOOLS_ANALYSIS_ADVICE_BATCH_H_

#include <cstdint>
#include <string>
#include <vector>

#include "tools/analysis/explain/failure_moment.h"

namespace vramstow {

// Those of the blocks whose shape is known and has no batch in it.
std::vector<const Life*> WithoutBatch(const FailureMoment& moment,
                                      const std::vector<const Life*>& lives);

// What to do about a batch that is padded to one long sample, behind another action; empty if
// earlier blocks of this line are not far smaller than `bytes`, or are too few to say so.
std::string IfPadded(const FailureMoment& moment, uint32_t site, uint64_t bytes);

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_ANALYSIS_ADVICE_BATCH_H_
