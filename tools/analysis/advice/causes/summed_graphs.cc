// A cause of an out-of-memory: a loop runs its body several times before a backward pass, and the
// graphs of all these runs wait for that backward pass.
#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "tools/analysis/advice/advice_words.h"
#include "tools/analysis/advice/changes.h"
#include "tools/analysis/advice/graph_list.h"
#include "tools/analysis/advice/layer_turns.h"
#include "tools/analysis/advice/leftover_blocks.h"
#include "tools/analysis/advice/no_backward.h"
#include "tools/analysis/advice/places.h"
#include "tools/analysis/advice/rule.h"
#include "tools/analysis/explain/census_summary.h"

namespace vramstow {
namespace {

constexpr uint64_t kSmallPart = 20;

// Returns the events at which the items began, and the one at which the loop began its body again
// after the last item, if it did so before the request failed.
std::vector<uint64_t> TurnsOf(const FailureMoment& moment, const GraphList& list) {
  std::vector<uint64_t> turns;
  for (const auto& [item, lives] : list.by_item) turns.push_back(lives.front()->birth);
  std::ranges::sort(turns);
  const std::vector<const Life*> all = list.All();
  std::set<uint32_t> sites;
  for (const Life* life : all) sites.insert(life->site);
  const std::vector<Life>& lives = moment.detail().lives;
  auto next = std::ranges::upper_bound(lives, all.back()->birth, {}, &Life::birth);
  while (next != lives.end() && next->birth < moment.event() && !sites.contains(next->site)) ++next;
  const bool is_request = std::ranges::any_of(sites, [&](uint32_t site) {
    return SameWork(moment.detail().sites[site], moment.request_site());
  });
  if (next != lives.end() && next->birth < moment.event()) {
    turns.push_back(next->birth);
  } else if (is_request) {
    turns.push_back(moment.event());
  }
  return turns;
}

bool RanBackward(const FailureMoment& moment, uint64_t begin, uint64_t end) {
  const std::vector<Life>& lives = moment.detail().lives;
  auto life = std::ranges::lower_bound(lives, begin, {}, &Life::birth);
  for (; life != lives.end() && life->birth < end; ++life) {
    if (life->tensor && !life->pending && moment.site_of(*life).in_backward) return true;
  }
  return false;
}

// True if the program made a tensor outside of all modules within each turn, such as a batch or a
// loss. The layers of one forward pass make none.
bool AreIterations(const FailureMoment& moment, const std::vector<uint64_t>& turns) {
  const std::vector<Life>& lives = moment.detail().lives;
  for (size_t i = 0; i + 1 < turns.size(); ++i) {
    auto life = std::ranges::lower_bound(lives, turns[i], {}, &Life::birth);
    const auto end = std::ranges::lower_bound(lives, turns[i + 1], {}, &Life::birth);
    const auto is_outside = [&](const Life& one) {
      const SiteDetail& site = moment.site_of(one);
      return one.tensor && !one.pending && site.module.empty() && site.phase != Phase::kForward;
    };
    if (std::none_of(life, end, is_outside)) return false;
  }
  return true;
}

// Finds a list of losses whose graphs no backward pass has freed yet. This also finds them in the
// first step of a job, in which nothing else shows which iterations belong to it.
Found FindCollectedGraphs(const FailureMoment& moment) {
  if (IsCalledEvaluation(moment) || IsInferenceOnly(moment)) return std::nullopt;
  if (AskForCause(kHeldGraphs, moment).has_value()) return std::nullopt;
  const GraphList list = LargestGraphList(moment);
  if (list.by_item.size() < kLeastPasses) return std::nullopt;
  const std::vector<uint64_t> turns = TurnsOf(moment, list);
  if (!AreIterations(moment, turns) || AreLayers(moment, list.All(), turns)) return std::nullopt;
  Cause cause;
  cause.held = list.All();
  if (RanBackward(moment, turns.front(), cause.held.back()->birth)) return std::nullopt;
  std::erase_if(cause.held, [&](const Life* life) { return life->birth >= turns.back(); });
  cause.bytes = BytesOf(cause.held);
  if (!moment.IsLarge(cause.bytes)) return std::nullopt;
  cause.change = FreedWithTurn(moment, cause.held, turns);
  DescribeOneBackward(&cause);
  cause.place = CommonPlace(moment.detail(), cause.held, true);
  if (cause.place.empty()) cause.place = PlaceInProgram(moment, cause.held);
  cause.evidence =
      "The items of " + list.name + " reference the autograd graphs of " +
      std::to_string(list.by_item.size()) + " iterations of a loop, " + AdviceText(cause.bytes) +
      " that no backward pass has freed: " + LargestPlaces(moment.detail(), cause.held) + ".";
  if (!RanBackward(moment, turns.front(), moment.event())) {
    cause.action +=
        " If no backward pass follows, store numbers (loss.item()) or detached tensors "
        "(.detach()) in " +
        list.name + ", or compute them under torch.no_grad().";
  }
  return cause;
}

// Finds several graphs in one iteration: a sum of losses, or a loop that is unrolled.
Found FindGraphsOfTurns(const FailureMoment& moment) {
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
  if (AreLayers(moment, made, turns)) return std::nullopt;
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

Found FindSummedGraphs(const FailureMoment& moment) {
  Found summed = FindGraphsOfTurns(moment);
  return summed.has_value() ? summed : FindCollectedGraphs(moment);
}

}  // namespace

constinit const Rule kSummedGraphs = {
    .rank = Rank::kMistake,
    .meaning =
        "the autograd graphs of several iterations of a loop that wait for one backward pass",
    .help =
        "Within one step a loop allocated blocks in at least three iterations, and all of them "
        "wait for one backward pass; or, according to a census, the items of a list hold the "
        "graphs of at least three iterations, between which no backward pass ran. Call backward() "
        "on each iteration's loss, divided by their "
        "number; the gradients add up.",
    .needs = {kNeedsGraph},
    .cause = FindSummedGraphs,
};

}  // namespace vramstow
