// Changes: describes the effect on the requests when a cause is removed.
//
// Ownership: plain values, which refer to the lives of a FailureMoment by their numbers. Threads:
// pure functions, callable from any thread. Errors: none. Units: bytes; events are counted from 1.
#ifndef VRAMSTOW_TOOLS_ANALYSIS_ADVICE_CHANGES_H_
#define VRAMSTOW_TOOLS_ANALYSIS_ADVICE_CHANGES_H_

#include <vector>

#include "tools/analysis/explain/failure_moment.h"
#include "tools/analysis/facts/change.h"

namespace vramstow {

// The blocks are never requested.
Change Without(const Detail& detail, const std::vector<const Life*>& lives);
// The blocks are freed before this event.
Change FreedBefore(const Detail& detail, const std::vector<const Life*>& lives, uint64_t event);
// Each block is freed at the end of the iteration in which it was made.
Change FreedWithPass(const FailureMoment& moment, const std::vector<const Life*>& lives);
// Each block is freed at the end of the loop turn in which it was made. `turns` has the events at
// which turns begin, in order.
Change FreedWithTurn(const FailureMoment& moment, const std::vector<const Life*>& lives,
                     const std::vector<uint64_t>& turns);
// Each block shrinks to one of `parts` parts.
Change InParts(const Detail& detail, const std::vector<const Life*>& lives, uint64_t parts);

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_ANALYSIS_ADVICE_CHANGES_H_
