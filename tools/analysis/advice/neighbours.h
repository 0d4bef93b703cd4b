// Neighbours: finds which other recorded process held the GPU when one process ran out of memory.
//
// Idea: a trace contains the time of its begin, its host, and the GPU of each block. So the moment
// of a failure can be found in each other trace of that host.
//
// Ownership: changes the advice of the analyses. Threads: pure functions, callable from any thread.
// Errors: none; without a trace of the other process, the advice is unchanged. Units: bytes,
// nanoseconds.
#ifndef VRAMSTOW_TOOLS_ANALYSIS_ADVICE_NEIGHBOURS_H_
#define VRAMSTOW_TOOLS_ANALYSIS_ADVICE_NEIGHBOURS_H_

#include <cstdint>
#include <vector>

#include "tools/analysis/facts/detail.h"

namespace vramstow {

struct Recorded {
  Analysis* analysis = nullptr;
  uint64_t start_unix_ns = 0;  // the wall-clock time of its time 0; 0 if unknown
};

// If advice blames other processes, adds to it which process and which source line held the GPU.
void NameNeighbours(const std::vector<Recorded>& recorded);

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_ANALYSIS_ADVICE_NEIGHBOURS_H_
