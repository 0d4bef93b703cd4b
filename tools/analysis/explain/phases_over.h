// PhasesOver: finds which phases of the program ran while a block was live.
//
// Idea: forward, backward, optimizer and data loading follow one another. The call sites of the
// blocks that are allocated show the current phase. So a block outlives its phase if another phase
// allocates before the block is freed.
//
// Ownership: keeps its own copies. Threads: a plain value without synchronisation. Errors: none;
// without stacks there are no phases. Units: events.
#ifndef VRAMSTOW_TOOLS_ANALYSIS_EXPLAIN_PHASES_OVER_H_
#define VRAMSTOW_TOOLS_ANALYSIS_EXPLAIN_PHASES_OVER_H_

#include <cstdint>
#include <vector>

#include "tools/analysis/facts/detail.h"

namespace vramstow {

class PhasesOver {
 public:
  explicit PhasesOver(const Detail& detail);

  // True if a backward pass allocated anything while the block lived.
  bool LivesIntoBackward(const Life& life) const;
  // True if the block was made in a forward pass and freed in a backward pass.
  bool BridgesToBackward(const Life& life) const {
    return PhaseAt(life.birth) == Phase::kForward && PhaseAt(life.death) == Phase::kBackward;
  }
  // True if the block was still live after the phase in which it was allocated.
  bool Outlives(const Life& life, Phase phase) const;

 private:
  struct Stage {
    uint64_t since;  // event
    Phase phase;
  };
  Phase PhaseAt(uint64_t event) const;

  std::vector<uint64_t> backward_;  // events
  std::vector<Stage> stages_;       // consecutive stages differ
};

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_ANALYSIS_EXPLAIN_PHASES_OVER_H_
