// LayerTurns: tells a loop over the layers of one model from a loop over batches.
//
// Idea: both loops allocate on the same lines in each turn. A loop over layers passes one tensor of
// many numbers on, uses the parameters of another layer in each turn, and so allocates on a line a
// few times per turn. A turn of a loop over batches runs all layers and ends in a loss, which is
// one number. A census (a reference scan) knows the parameters' names and shapes, and the variable
// whose graph holds the blocks.
//
// Ownership: plain values. Threads: pure functions, callable from any thread. Errors: none; without
// a census the loop is taken to be over batches. Units: events.
#ifndef VRAMSTOW_TOOLS_ANALYSIS_ADVICE_LAYER_TURNS_H_
#define VRAMSTOW_TOOLS_ANALYSIS_ADVICE_LAYER_TURNS_H_

#include <cstdint>
#include <vector>

#include "tools/analysis/explain/failure_moment.h"

namespace vramstow {

// The tensor whose graph holds most of some blocks; the items of a list count as one.
enum class GraphRoot : uint8_t { kUnknown, kNumber, kTensor };
GraphRoot GraphRootOf(const FailureMoment& moment, const std::vector<const Life*>& lives);

// True if the turns of the loop that made these blocks are the layers of one model. `begins` has
// the events at which the turns begin, in order.
bool AreLayers(const FailureMoment& moment, const std::vector<const Life*>& lives,
               const std::vector<uint64_t>& begins);

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_ANALYSIS_ADVICE_LAYER_TURNS_H_
