// Changes: what it means for the requests when a cause is mended.
//
// Ownership: values; a FailureMoment's lives are named by their number. Threads: pure functions.
// Errors: none. Units: bytes, events counted from 1.
#ifndef VRAMSTOW_TOOLS_ANALYSIS_ADVICE_CHANGES_H_
#define VRAMSTOW_TOOLS_ANALYSIS_ADVICE_CHANGES_H_

#include <vector>

#include "tools/analysis/explain/failure_moment.h"
#include "tools/analysis/facts/change.h"

namespace vramstow {

// These blocks are not asked for.
Change Without(const Detail& detail, const std::vector<const Life*>& lives);
// They are freed before this event.
Change FreedBefore(const Detail& detail, const std::vector<const Life*>& lives, uint64_t event);
// Each is freed when the pass is over in which it was made.
Change FreedWithPass(const FailureMoment& moment, const std::vector<const Life*>& lives);
// Each is freed when the turn is over in which it was made; `turns`: where they begin, in order.
Change FreedWithTurn(const FailureMoment& moment, const std::vector<const Life*>& lives,
                     const std::vector<uint64_t>& turns);
// Each is one of `parts` parts of what it was.
Change InParts(const Detail& detail, const std::vector<const Life*>& lives, uint64_t parts);

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_ANALYSIS_ADVICE_CHANGES_H_
