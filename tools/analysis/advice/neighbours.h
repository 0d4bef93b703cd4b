// Neighbours: which process that was recorded, too, held the card when another one ran out of
// memory.
//
// Idea: traces tell when they began, on which host, and on which card each block lay. So the moment
// of a failure is a moment of every other trace of that host.
//
// Ownership: changes the advice of the analyses. Threads: pure functions. Errors: none; without a
// trace of the other process, its advice stays as it is. Units: bytes, nanoseconds.
#ifndef VRAMSTOW_TOOLS_ANALYSIS_ADVICE_NEIGHBOURS_H_
#define VRAMSTOW_TOOLS_ANALYSIS_ADVICE_NEIGHBOURS_H_

#include <cstdint>
#include <vector>

#include "tools/analysis/facts/detail.h"

namespace vramstow {

struct Recorded {
  Analysis* analysis = nullptr;
  uint64_t start_unix_ns = 0;  // the moment of its time 0, by the clock on the wall; 0: not known
};

// Names the process, and its line, in advice that blames other processes.
void NameNeighbours(const std::vector<Recorded>& recorded);

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_ANALYSIS_ADVICE_NEIGHBOURS_H_
