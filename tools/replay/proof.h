// Proof: what each advice brings, found by replaying what the program asked for with the change
// that it stands for, up to the request that failed.
//
// Idea: each change goes through the model of the allocator that ran, and through vramstow's pool.
// Without a limit the model tells what would be needed; with the room that the process had, whether
// the request is served. The unchanged requests go first: where a model serves them even with 2%
// less room, it does not show this failure, and its verdicts are none.
//
// Where nothing failed, the requests up to the peak are replayed by the allocator that ran, with
// each change and without.
//
// Advice keeps its order, and what was found stands in AdviceFacts::proof; OrderProved
// (analysis/advice/order.h) decides what comes first.
//
// Ownership: reads a Detail, changes facts->advice and the last out-of-memory. Threads: a pure
// function. Errors: none; without blocks, or at a failure without a known room, nothing is done.
// Units: bytes. Cost: bounded by ProofBudget.
#ifndef VRAMSTOW_TOOLS_REPLAY_PROOF_H_
#define VRAMSTOW_TOOLS_REPLAY_PROOF_H_

#include <cstddef>

#include "tools/analysis/facts/detail.h"

namespace vramstow {

struct ProofBudget {
  size_t most_requests = 40'000;  // of one replay: the newest
  size_t most_work = 2'000'000;   // requests of all replays together
  size_t most_in_pairs = 4;       // advice that is tried in pairs
};

void ProveAdvice(const Detail& detail, Facts* facts, const ProofBudget& budget = {});

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_REPLAY_PROOF_H_
