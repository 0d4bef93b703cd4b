// Order: decides which cause and which advice comes first. No other code sorts them.
//
// Idea: before a replay, causes and other advice are ordered by what the trace shows, which also
// decides what is replayed if time is short. After a replay, they are ordered by its results.
//
// Ownership: takes and returns lists. Threads: pure functions, callable from any thread. Errors:
// none. Units: bytes.
#ifndef VRAMSTOW_TOOLS_ANALYSIS_ADVICE_ORDER_H_
#define VRAMSTOW_TOOLS_ANALYSIS_ADVICE_ORDER_H_

#include <cstdint>
#include <vector>

#include "tools/analysis/advice/cause.h"
#include "tools/analysis/facts/facts.h"

namespace vramstow {

// Orders the causes of one failure, which are given in the order of the table. `live_bytes` is the
// memory that was live. The rules:
// 1. A cause whose removal alone would have served the request comes before one whose removal would
// not. The former keep the order of the table, mistakes before trade-offs; the latter are in order
// of bytes.
// 2. A later cause becomes the first one if its removal would also serve the request, it has
// several times the bytes of the first, and it is a mistake or grows with each iteration. A small
// saving serves this request, but not the next ones.
// 3. If the first cause is a small share of the live memory, a trade-off with several times its
// bytes may also become the first one.
// 4. If the state of the optimizer is first and activations are larger, activations come first: a
// job needs both.
// 5. If another process is first and the job's own growth is at least half as large, the growth
// comes first: with the whole GPU the job would also run out of memory, only later.
std::vector<Cause> OrderCauses(uint64_t live_bytes, std::vector<Cause> causes);

// Returns all advice of a job before a replay: first the causes of its last failure, then other
// advice, by rank and then by bytes. `causes` are in order, `hints` in the order of the table. If
// fragmentation explains the failure, the advice on it comes first, unless the first cause would
// end the job in any case.
std::vector<AdviceFacts> OrderAdvice(const Facts& facts, const std::vector<Cause>& causes,
                                     std::vector<RankedAdvice> hints);

// Returns the row of a failure that says what would be free without this cause.
WouldFitFacts WouldFit(const AdviceFacts& cause);

// Fills `advice` and the results of the replay of the last failure, and with a replay also `cause`
// and `would_fit` of that failure. Changes that serve the request alone come first, in the order
// that they had before; then pairs of changes that serve it together; then other changes, those
// that save most first. In a job that did not fail, advice that saves nothing is dropped, and so is
// any change without effect. If an allocator without fragmentation would have served this request
// but hardly another one, a cause comes before the advice to change the allocator. So does a cause
// that grows and that is twice as large as the memory which such an allocator would leave.
void ComposeAdvice(ProvedAdvice proved, Facts* facts);

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_ANALYSIS_ADVICE_ORDER_H_
