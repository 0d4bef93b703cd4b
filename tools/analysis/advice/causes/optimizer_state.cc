// A cause of an out-of-memory: the state of the optimizer.
#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "tools/analysis/advice/advice_words.h"
#include "tools/analysis/advice/changes.h"
#include "tools/analysis/advice/leftover_blocks.h"
#include "tools/analysis/advice/places.h"
#include "tools/analysis/advice/rule.h"
#include "tools/analysis/advice/training_state.h"

namespace vramstow {
namespace {

// True if a line allocates more state in each iteration: then the state is a history that grows,
// and not state of a fixed size.
bool IsHistory(const FailureMoment& moment, const std::vector<const Life*>& state) {
  std::map<uint32_t, std::set<int64_t>> passes;
  uint64_t growing = 0;
  for (const Life* life : state) passes[life->site].insert(moment.PassOf(*life));
  for (const Life* life : state) {
    if (passes[life->site].size() >= kLeastPasses) growing += life->size;
  }
  return growing * 2 > BytesOf(state);
}

void DescribeHistory(const FailureMoment& moment, const std::vector<const Life*>& state,
                     Cause* cause) {
  cause->proof.grows = true;
  cause->bytes = BytesOf(state);
  cause->change = Without(moment.detail(), state);
  cause->is_estimate = false;
  cause->title = "The optimizer stores more memory with each step";
  cause->place = PlaceInProgram(moment, state);
  cause->evidence = AdviceText(cause->bytes) + " were allocated by the previous steps and stay: " +
                    LargestPlaces(moment.detail(), state) + ".";
  cause->cost = "The optimizer uses fewer of the previous steps.";
  cause->action =
      "Let the optimizer store fewer steps (for L-BFGS a smaller history_size), drop the oldest "
      "ones, or keep them on the host.";
}

Found FindOptimizerState(const FailureMoment& moment) {
  const std::vector<const Life*> state = OfOptimizer(moment, false);
  const SiteDetail& request = moment.request_site();
  const bool is_made_now = request.in_optimizer && !IsForeach(request);
  Cause cause;
  cause.bytes = BytesOf(state);
  cause.held = state;
  cause.change = Without(moment.detail(), state);
  if (is_made_now) {
    // Each line that makes state makes it for every parameter. A line may have several call sites,
    // by its paths through C++.
    std::set<std::vector<uint32_t>> lines = {request.frames};
    for (const Life* life : state) {
      if (life->size >= (1 << 12)) lines.insert(moment.site_of(*life).frames);
    }
    cause.bytes = std::max(cause.bytes + moment.requested(),
                           BytesOf(Gradients(moment)) * static_cast<uint64_t>(lines.size()));
    cause.change.requested = 0;
    cause.change.spared_later = cause.bytes - BytesOf(state) - moment.requested();
    cause.is_estimate = true;
  }
  if (!moment.IsLarge(cause.bytes) || (state.empty() && !is_made_now)) return std::nullopt;
  cause.title = is_made_now ? "The optimizer's state is allocated now, at its first step"
                            : "The optimizer's state is a large part of the memory";
  cause.place = PlaceOfStep(moment, state);
  cause.evidence =
      is_made_now ? AdviceText(cause.bytes) + " of state belong to these parameters; " +
                        AdviceText(BytesOf(state)) + " of it were live when the request failed."
                  : AdviceText(cause.bytes) + " are state that the optimizer stores.";
  if (IsHistory(moment, state)) {
    DescribeHistory(moment, state, &cause);
    return cause;
  }
  cause.cost = "8-bit state has no known cost; state on the host costs a transfer for each step.";
  const bool is_sharded = AreSharded(moment, state);
  if (is_sharded) cause.evidence += " It is already divided among the ranks.";
  cause.action =
      std::string("Use an optimizer with 8-bit state or with less state (Adafactor, SGD), ") +
      (is_sharded ? "or" : "shard it over the ranks, or") + " keep its state on the host.";
  return cause;
}

}  // namespace

constinit const Rule kOptimizerState = {
    .rank = Rank::kTrade,
    .meaning = "the state that the optimizer stores",
    .help =
        "The optimizer stores state for each parameter; at its first step it allocates all of it. "
        "Use an optimizer with 8-bit state or with less state, shard it over the ranks, or keep "
        "its state on the host.",
    .needs = {kNeedsOptimizerWork},
    .cause = FindOptimizerState,
};

}  // namespace vramstow
