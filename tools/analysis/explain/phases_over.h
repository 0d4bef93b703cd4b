// PhasesOver: what was being done while a block lived, by what others were allocated for.
//
// Idea: forward, backward, optimizer and data follow one another; the sites of the blocks that are
// born tell which it is. So a block outlives its phase if one is born for another before it dies.
//
// Ownership: copies. Threads: a value. Errors: none; without stacks there are no phases. Units:
// events.
#ifndef VRAMSTOW_TOOLS_ANALYSIS_EXPLAIN_PHASES_OVER_H_
#define VRAMSTOW_TOOLS_ANALYSIS_EXPLAIN_PHASES_OVER_H_

#include <cstdint>
#include <vector>

#include "tools/analysis/facts/detail.h"

namespace vramstow {

class PhasesOver {
 public:
  explicit PhasesOver(const Detail& detail);

  // Whether something was allocated in a backward pass while it lived.
  bool LivesIntoBackward(const Life& life) const;
  // The same, of one that came in a forward pass and went in a backward pass.
  bool BridgesToBackward(const Life& life) const {
    return PhaseAt(life.birth) == Phase::kForward && PhaseAt(life.death) == Phase::kBackward;
  }
  // Whether it lived on when the phase was over in which it was allocated.
  bool Outlives(const Life& life, Phase phase) const;

 private:
  struct Stage {
    uint64_t since;  // event
    Phase phase;
  };
  Phase PhaseAt(uint64_t event) const;

  std::vector<uint64_t> backward_;  // events
  std::vector<Stage> stages_;       // one differs from the next
};

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_ANALYSIS_EXPLAIN_PHASES_OVER_H_
