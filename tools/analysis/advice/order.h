// Order: which cause and which advice comes first. Nothing else sorts them.
//
// Idea: before a replay, causes and other advice are ordered by what the trace tells: that decides
// which are replayed where time is short. After it, by what the replay has shown.
//
// Ownership: changes lists. Threads: pure functions. Errors: none. Units: bytes.
#ifndef VRAMSTOW_TOOLS_ANALYSIS_ADVICE_ORDER_H_
#define VRAMSTOW_TOOLS_ANALYSIS_ADVICE_ORDER_H_

#include <utility>
#include <vector>

#include "tools/analysis/advice/cause.h"
#include "tools/analysis/advice/rule.h"
#include "tools/analysis/facts/facts.h"

namespace vramstow {

// Of one failure; they are given in the order of the table. What alone would have served the
// request keeps that order and comes before what would not, which goes by bytes. What grows with
// each pass comes first of all if it is much larger than the first.
void OrderCauses(std::vector<Cause>* causes);

using RankedAdvice = std::pair<Rank, AdviceFacts>;
// Other advice, given in the order of the table: by rank, then by bytes.
void OrderHints(std::vector<RankedAdvice>* hints);

// All advice of a job: its causes, in their order, then other advice, in its order; fragmentation,
// where it explains the failure, before all but a first cause that ends the job in any case.
void OrderAdvice(const Facts& facts, const std::vector<Cause>& causes,
                 std::vector<AdviceFacts>* advice);

// After a replay: what serves the request alone, as it was ordered; pairs that do; then what lowers
// the need most. What changes nothing is left out. Fills `cause` and `would_fit` of the last
// failure anew. Without a replay nothing is done.
void OrderProved(Facts* facts);

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_ANALYSIS_ADVICE_ORDER_H_
