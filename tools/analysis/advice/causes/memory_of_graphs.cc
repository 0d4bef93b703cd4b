// A cause of an out-of-memory: captured graphs may use the memory on the GPU, so --offload cannot
// move it.
#include "tools/analysis/advice/advice_words.h"
#include "tools/analysis/advice/memory_in_place.h"
#include "tools/analysis/advice/private_pools.h"
#include "tools/analysis/advice/rule.h"

namespace vramstow {
namespace {

Found FindMemoryOfGraphs(const FailureMoment& moment) {
  Cause cause = OfMemoryInPlace(moment);
  cause.title = "Captured graphs keep memory on the GPU that --offload cannot move";
  cause.evidence += AdviceText(cause.bytes) +
                    " stayed on the GPU: a graph uses the addresses of its capture whenever it is "
                    "launched, so the memory behind them does not move.";
  cause.cost = "Work that no graph contains takes longer to submit.";
  cause.action =
      "Capture fewer or smaller graphs, which share their static inputs and one pool "
      "(torch.cuda.graph_pool_handle()). While the program launches no graph, it can pause this "
      "memory, too: vramstow.pause(region, graphs=True), then vramstow.resume().";
  return cause;
}

bool IsHeldByGraphs(const FailureMoment& moment) {
  return HasCaptured(moment.facts()) == Captured::kYes && FailedByMemoryInPlace(moment);
}

constexpr Precondition kNeedsMemoryOfGraphs = {
    .words =
        "with --offload=auto, all other memory that the request needed had moved, and memory that "
        "captured graphs may use would have been enough",
    .in_failure = IsHeldByGraphs};

}  // namespace

constinit const Rule kMemoryOfGraphs = {
    .rank = Rank::kMistake,
    .meaning = "captured graphs keep memory on the GPU, which --offload cannot move",
    .help =
        "A captured graph uses the addresses of its capture whenever it is launched. So --offload "
        "never moves memory that a captured stream used, nor that of a graph's private pool. "
        "Capture fewer or smaller graphs, or pause this memory while no graph is launched.",
    .needs = {kNeedsMemoryOfGraphs},
    .cause = FindMemoryOfGraphs,
};

}  // namespace vramstow
