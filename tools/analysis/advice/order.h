// Order: which cause and which advice comes first. Nothing else sorts them.
//
// Idea: before a replay, causes and other advice are ordered by what the trace tells: that decides
// which are replayed where time is short. After it, by what the replay has shown.
//
// Ownership: changes lists. Threads: pure functions. Errors: none. Units: bytes.
#ifndef VRAMSTOW_TOOLS_ANALYSIS_ADVICE_ORDER_H_
#define VRAMSTOW_TOOLS_ANALYSIS_ADVICE_ORDER_H_

#include <cstdint>
#include <utility>
#include <vector>

#include "tools/analysis/advice/cause.h"
#include "tools/analysis/advice/rule.h"
#include "tools/analysis/facts/facts.h"

namespace vramstow {

// Causes of one failure, given in the order of the table; `live_bytes`: what was live. The rule:
// 1. A cause that alone would have served the request comes before one that would not. The first
//    keep the order of the table, mistakes before trades; the others go by bytes.
// 2. The first gives way to one behind it that would serve the request, too, and has several times
//    its bytes, if that one is a mistake or grows with each pass: a small saving lets this request
//    through, and not the next ones.
// 3. Where the first is a small share of what was live, it gives way to a trade of that size, too.
// 4. The state of the optimizer gives way to activations that are more: a job needs both.
// 5. Another process gives way to growth of the job's own that is half as much: with the whole card
//    the job would die, too, only later.
using RankedCause = std::pair<Rank, Cause>;
void OrderCauses(uint64_t live_bytes, std::vector<RankedCause>* causes);

using RankedAdvice = std::pair<Rank, AdviceFacts>;
// Other advice, given in the order of the table: by rank, then by bytes.
void OrderHints(std::vector<RankedAdvice>* hints);

// All advice of a job: its causes, in their order, then other advice, in its order; fragmentation,
// where it explains the failure, before all but a first cause that ends the job in any case.
void OrderAdvice(const Facts& facts, const std::vector<Cause>& causes,
                 std::vector<AdviceFacts>* advice);

// After a replay: changes that serve the request alone, as they were ordered; pairs that do; then
// those that lower the need most. Of a job that lived, what saves nothing is left out. Where an
// allocator without pieces would have served this request
// and no other like it, a cause comes first. A change without effect is left out. Fills
// `cause` and `would_fit` of the last failure anew. Without a replay nothing is done.
void OrderProved(Facts* facts);

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_ANALYSIS_ADVICE_ORDER_H_
