// Determines the memory that a launch which is left out would have written.
//
// Idea: results that were not computed must be marked, or the program mistakes old bytes for a
// result. The PTX does not say how far a kernel writes. So the blocks at the corners of its grid
// are run: the memory that they write through one pointer argument, from the lowest byte to the
// highest, counts as that pointer's result. Gaps within it (such as the other columns of a wider
// matrix) are marked, too. A launch that differs only in its addresses has the same results.
//
// Ownership: borrows everything for the duration of a call; the spans of examined launches are
// stored for the life of the process. Threads: the caller holds the driver's lock. Errors: a launch
// whose corner blocks reach no store within their steps has no results. Units: bytes.
#ifndef VRAMSTOW_SIMULATOR_KERNELS_WRITTEN_SPANS_H_
#define VRAMSTOW_SIMULATOR_KERNELS_WRITTEN_SPANS_H_

#include <map>
#include <vector>

#include "simulator/kernels/grid_memory.h"
#include "simulator/kernels/ptx/grid.h"

namespace vramstow::simulator {

// Gives a launch that must change nothing copies of the pages that it accesses, a few at most.
class CopiedMemory : public GridMemory {
 public:
  using GridMemory::GridMemory;

 protected:
  Window Find(uint64_t address, uint64_t bytes, bool write) override;

 private:
  std::map<uint64_t, std::vector<char>> copies_;  // by the address of the first byte
};

// Adds to the written ranges of `memory` the ranges that the launch would have written. The call
// may overwrite a part of the results' memory, unless `memory` is a CopiedMemory.
void AddWrittenSpans(const State& state, const ptx::GridLaunch& launch, GridMemory* memory);

}  // namespace vramstow::simulator

#endif  // VRAMSTOW_SIMULATOR_KERNELS_WRITTEN_SPANS_H_
