// A cause of an out-of-memory: captured CUDA graphs with a memory pool each.
#include <algorithm>
#include <string>

#include "tools/analysis/advice/advice_words.h"
#include "tools/analysis/advice/places.h"
#include "tools/analysis/advice/private_pools.h"
#include "tools/analysis/advice/rule.h"

namespace vramstow {
namespace {

// True if torch.compile() captured graphs (mode="reduce-overhead"), whose pool it chooses itself.
bool IsCapturedByCompiler(const FailureMoment& moment) {
  return std::ranges::any_of(moment.detail().frames, [](const std::string& frame) {
    return frame.find("cudagraph_trees.py") != std::string::npos;
  });
}

Found FindGraphPools(const FailureMoment& moment) {
  const uint64_t free = moment.failure().pool_free_bytes;
  if (!moment.IsLarge(free)) return std::nullopt;
  Cause cause;
  cause.change.shares_pool = true;
  cause.title = "Each captured graph has its own memory";
  cause.bytes = free;
  cause.is_estimate = true;
  cause.place = PlaceOfRequest(moment);
  const OutOfMemoryFacts& failure = moment.failure();
  const bool has_piece =
      !failure.pool_movable_bytes.has_value() && failure.free_bytes < failure.requested_bytes;
  const char* pieces = has_piece ? "some in pieces that are large enough" : "in whole chunks";
  cause.evidence = AdviceText(free) + " of the pool were free, " + pieces +
                   ", and could not serve a request for " + AdviceText(moment.requested()) +
                   ": memory that a graph used while it was captured stays reserved for it.";
  cause.cost = "Graphs that share a pool must not run at the same time.";
  if (IsCapturedByCompiler(moment)) {
    cause.action =
        "torch.compile() captures a graph for each shape, and the memory of each stays reserved: "
        "pad the inputs to a few shapes, run the largest one first, or leave "
        "mode=\"reduce-overhead\" out.";
    return cause;
  }
  cause.action =
      "Use one pool for all captures (torch.cuda.graph(..., pool=torch.cuda.graph_pool_handle())), "
      "and capture the largest shape first.";
  return cause;
}

bool IsBoundToGraphs(const FailureMoment& moment) {
  return moment.is_bound() && HasCaptured(moment.facts()) == Captured::kYes;
}

constexpr Precondition kNeedsBoundMemory = {
    .words =
        "a CUDA graph was captured, and free memory of a private pool could not serve the "
        "request",
    .in_failure = IsBoundToGraphs};

}  // namespace

constinit const Rule kGraphPools = {
    .rank = Rank::kMistake,
    .meaning = "captured graphs that have a pool each",
    .help =
        "Memory of the pool was free, but belongs to captured CUDA graphs: memory that a graph "
        "used while it was captured stays reserved for it. Use one pool for all captures "
        "(torch.cuda.graph_pool_handle()), and capture the largest shape first.",
    .needs = {kNeedsBoundMemory},
    .cause = FindGraphPools,
};

}  // namespace vramstow
