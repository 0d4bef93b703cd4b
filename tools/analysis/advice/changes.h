// Changes: describes how the requests of the program change when a cause of the failure is removed.
// Each function returns one kind of change.
//
// Ownership: plain values, which refer to the lives of a FailureMoment by their numbers. Threads:
// pure functions, callable from any thread. Errors: none. Units: bytes; events are counted from 1.
#ifndef VRAMSTOW_TOOLS_ANALYSIS_ADVICE_CHANGES_H_
#define VRAMSTOW_TOOLS_ANALYSIS_ADVICE_CHANGES_H_

#include <vector>

#include "tools/analysis/explain/failure_moment.h"
#include "tools/analysis/facts/change.h"

namespace vramstow {

// Returns the change in which these blocks are never requested.
Change Without(const Detail& detail, const std::vector<const Life*>& lives);
// Returns the change in which these blocks are freed before the event with the number `event`.
Change FreedBefore(const Detail& detail, const std::vector<const Life*>& lives, uint64_t event);
// Returns the change in which each block is freed at the end of the iteration in which it was
// allocated.
Change FreedWithPass(const FailureMoment& moment, const std::vector<const Life*>& lives);
// Returns the change in which each block is freed as soon as the loop that allocated it begins its
// body again. `turns` has the events at which the body begins, in order.
Change FreedWithTurn(const FailureMoment& moment, const std::vector<const Life*>& lives,
                     const std::vector<uint64_t>& turns);
// Returns the change in which `bytes` are requested for each of these blocks.
Change Resized(const Detail& detail, const std::vector<const Life*>& lives, uint64_t bytes);
// Returns the change in which the blocks are divided into `parts` parts, of which only one is live
// at a time.
Change InParts(const Detail& detail, const std::vector<const Life*>& lives, uint64_t parts);

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_ANALYSIS_ADVICE_CHANGES_H_
