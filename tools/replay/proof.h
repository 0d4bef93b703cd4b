// Proof: finds the effect of each piece of advice by replaying the program's requests with its
// change, up to the request that failed.
//
// Idea: each change is replayed with the model of the allocator that ran, and with vramstow's pool.
// Without a limit, the model shows how much would be needed; with the room that the process had,
// whether the request is served. The unchanged requests are replayed first: if a model serves them
// even with 2% less room, it does not reproduce this failure, and its results are ignored.
//
// If nothing failed, the requests up to the peak are replayed with the allocator that ran, with
// each change and without.
//
// The order of advice is unchanged, and the results are stored in AdviceFacts::proof; ComposeAdvice
// (analysis/advice/order.h) decides what comes first.
//
// Ownership: reads a Detail and its Facts, returns the advice with its proofs. Threads: a pure
// function, callable from any thread. Errors: none; nothing is proved without blocks, or at a
// failure without a known room. Units: bytes. Cost: bounded by ProofBudget.
#ifndef VRAMSTOW_TOOLS_REPLAY_PROOF_H_
#define VRAMSTOW_TOOLS_REPLAY_PROOF_H_

#include <cstddef>
#include <vector>

#include "tools/analysis/facts/detail.h"

namespace vramstow {

struct ProofBudget {
  size_t most_requests = 200'000;  // of one replay: the newest
  size_t most_work = 4'000'000;    // requests of all replays together
  size_t most_in_pairs = 4;        // advice that is tried in pairs
};

// Needs `demand` of the last failure.
ProvedAdvice ProveAdvice(const Detail& detail, const Facts& facts, std::vector<AdviceFacts> advice,
                         const ProofBudget& budget = {});

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_REPLAY_PROOF_H_
