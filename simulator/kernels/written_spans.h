// What a launch that is left out would have written.
//
// Idea: results that were not computed must be marked, or a program takes for a result what lay
// there before. The PTX does not say how far a kernel writes. So the blocks at the corners of its
// grid are run: what they write through one address among the arguments, from the lowest byte to
// the highest, is taken for that address's result. Gaps within it (the other columns of a wider
// matrix) are marked with it. A like launch, with other addresses, has the same results.
//
// Ownership: borrows everything for the length of a call; the spans of launches that were looked at
// are kept for the process. Threads: the driver's lock. Errors: a launch whose corners do not get
// to their stores within their steps has no results. Units: bytes.
#ifndef VRAMSTOW_SIMULATOR_KERNELS_WRITTEN_SPANS_H_
#define VRAMSTOW_SIMULATOR_KERNELS_WRITTEN_SPANS_H_

#include "simulator/kernels/grid_memory.h"
#include "simulator/kernels/ptx/grid.h"

namespace vramstow::simulator {

// Adds to what `memory` takes for written what the launch would have written. Memory that belongs
// to the results may hold a part of them afterwards.
void AddWrittenSpans(const State& state, const ptx::GridLaunch& launch, GridMemory* memory);

}  // namespace vramstow::simulator

#endif  // VRAMSTOW_SIMULATOR_KERNELS_WRITTEN_SPANS_H_
