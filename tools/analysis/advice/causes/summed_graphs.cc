// A cause of an out-of-memory: a loop runs its body several times before a backward pass, and the
// graphs of all these runs wait for that backward pass.
#include <algorithm>
#include <map>
#include <set>
#include <vector>

#include "tools/analysis/advice/advice_words.h"
#include "tools/analysis/advice/changes.h"
#include "tools/analysis/advice/leftover_blocks.h"
#include "tools/analysis/advice/places.h"
#include "tools/analysis/advice/rule.h"
#include "tools/analysis/explain/census_summary.h"

namespace vramstow {
namespace {

constexpr uint64_t kSmallPart = 20;

// Finds several graphs in one iteration: a sum of losses, or a loop that is unrolled.
Found FindSummedGraphs(const FailureMoment& moment) {
  if (moment.pass() < 0) return std::nullopt;
  const uint64_t begin = moment.pass_begin();
  const std::vector<uint64_t> turns =
      Iterations::TurnsWithin(moment.detail(), begin, moment.event() + 1);
  if (turns.size() < kLeastPasses) return std::nullopt;
  std::map<uint32_t, std::set<size_t>> turns_of;  // by site
  std::vector<const Life*> made;
  uint64_t backward = 0;  // made by a backward pass that runs, or has run
  for (const Life* life : moment.live()) {
    const SiteDetail& site = moment.site_of(*life);
    if (site.in_backward && life->tensor && life->birth >= begin) backward += life->size;
    if (life->birth < begin || !MayPileUp(moment, *life)) continue;
    const auto turn = std::ranges::upper_bound(turns, life->birth) - turns.begin();
    turns_of[life->site].insert(static_cast<size_t>(turn));
    made.push_back(life);
  }
  const uint64_t all = BytesOf(made);
  std::erase_if(made, [&](const Life* life) {
    return turns_of[life->site].size() < kLeastPasses || life->birth >= turns.back();
  });
  Cause cause;
  cause.held = made;
  cause.bytes = BytesOf(made);
  if (backward * kSmallPart > all || cause.bytes * 2 < all || !moment.IsLarge(cause.bytes))
    return std::nullopt;
  const CensusSummary summary = SummarizeCensus(moment.holders(), made);
  if (summary.decides() && summary.in_graph * 4 < summary.known) return std::nullopt;
  cause.change = FreedWithTurn(moment, made, turns);
  DescribeOneBackward(&cause);
  cause.place = CommonPlace(moment.detail(), made, true);
  if (cause.place.empty()) cause.place = PlaceInProgram(moment, made);
  cause.evidence = std::to_string(turns.size()) +
                   " iterations of a loop within one step allocated " + AdviceText(cause.bytes) +
                   " that wait for one backward pass: " + LargestPlaces(moment.detail(), made) +
                   ".";
  if (IsNewWork(moment, made, begin)) {
    cause.title = "Autograd graphs are recorded although backward() is not called";
    cause.evidence =
        std::to_string(turns.size()) + " iterations of a loop left " + AdviceText(cause.bytes) +
        " that autograd saved for a backward pass: " + LargestPlaces(moment.detail(), made) +
        ". In no previous step was there a backward pass for these lines.";
    cause.cost = "None.";
    cause.action =
        "If it is an evaluation, run it under torch.no_grad() or torch.inference_mode(). Otherwise "
        "call backward() on each iteration's loss, instead of on the sum of all.";
  }
  return cause;
}

}  // namespace

constinit const Rule kSummedGraphs = {
    .rank = Rank::kMistake,
    .meaning =
        "the autograd graphs of several iterations of a loop that wait for one backward pass",
    .help =
        "Within one step a loop allocated blocks in at least three iterations, and all of them "
        "wait for one backward pass. Call backward() on each iteration's loss, divided by their "
        "number; the gradients add up.",
    .needs = {kNeedsGraph},
    .cause = FindSummedGraphs,
};

}  // namespace vramstow
