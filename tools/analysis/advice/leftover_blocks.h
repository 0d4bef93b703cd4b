// LeftoverBlocks: finds the blocks that earlier iterations of the main loop left behind, and
// whether they belong to autograd graphs.
// Ownership: refers to a FailureMoment's lives. Threads: pure functions, callable from any thread.
// Errors: none; the result is empty if nothing was left behind. Units: bytes; iterations have the
// numbers that FailureMoment::PassOf gives.
#ifndef VRAMSTOW_TOOLS_ANALYSIS_ADVICE_LEFTOVER_BLOCKS_H_
#define VRAMSTOW_TOOLS_ANALYSIS_ADVICE_LEFTOVER_BLOCKS_H_

#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "tools/analysis/advice/cause.h"
#include "tools/analysis/explain/failure_moment.h"

namespace vramstow {

inline constexpr size_t kLeastPasses = 3;  // fewer iterations may still free their blocks

// The blocks that earlier iterations left behind, and the bytes that one iteration leaves.
struct LeftoverBlocks {
  std::vector<const Life*> lives;
  std::set<int64_t> passes;
  size_t blocks = 0;        // of one iteration, at call sites with a considerable part in it
  bool graph_made = false;  // autograd certainly holds a part of it
  bool is_graph = false;    // the blocks are more than results
};

// True if the call site of the block may leave a block behind in each iteration. False for
// optimizers and for the start-up.
bool MayPileUp(const FailureMoment& moment, const Life& life);
LeftoverBlocks PileOf(const FailureMoment& moment);
// Returns the source line at which the program stored these blocks or, if there is none, the line
// that called the model that made them.
std::string PlaceOfPile(const FailureMoment& moment, const std::vector<const Life*>& lives,
                        bool stops_at_model);
// Returns the variable at the begin of an owner's chain of references: "global monitor" for "global
// monitor.smooth[3]".
std::string RootOfHolder(const std::string& holder);
// Returns a cause with the sentences that all causes about leftover blocks share.
Cause OfPile(const FailureMoment& moment, const LeftoverBlocks& pile);
// Fills in the title and the action for the case that a loop makes several graphs, which wait for
// one backward pass.
void DescribeOneBackward(Cause* cause);

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_ANALYSIS_ADVICE_LEFTOVER_BLOCKS_H_
