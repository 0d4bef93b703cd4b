// LeftoverBlocks: what earlier passes of the main loop left behind, and whether it is their graphs.
//
// Ownership: refers to a FailureMoment's lives. Threads: pure functions. Errors: none; an empty
// pile is none. Units: bytes; passes as FailureMoment::PassOf numbers them.
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

inline constexpr size_t kLeastPasses = 3;  // that left something: less may be on its way

// The blocks that earlier passes left behind, and how much of them one pass leaves.
struct LeftoverBlocks {
  std::vector<const Life*> lives;
  std::set<int64_t> passes;
  size_t blocks = 0;        // of a pass, at sites that have a part in it worth naming
  bool graph_made = false;  // autograd keeps a part of it, for sure
  bool is_graph = false;    // it is more than results
};

// Whether its site may leave something behind in each pass: no optimizer and no start-up.
bool MayPileUp(const FailureMoment& moment, const Life& life);
LeftoverBlocks PileOf(const FailureMoment& moment);
// Where the program took what it keeps, or called the model that made it.
std::string PlaceOfPile(const FailureMoment& moment, const std::vector<const Life*>& lives,
                        bool stops_at_model);
// The variable with which a holder's chain begins: "global monitor" of "global monitor.smooth[3]".
std::string RootOfHolder(const std::string& holder);
// The sentences of every cause that is about a pile.
Cause OfPile(const FailureMoment& moment, const LeftoverBlocks& pile);
// The title and what to do, where graphs of several turns wait for one backward pass.
void TellOfOneBackward(Cause* cause);

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_ANALYSIS_ADVICE_LEFTOVER_BLOCKS_H_
