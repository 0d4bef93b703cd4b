#include "tools/analysis/advice/leftover_blocks.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "tools/analysis/advice/advice_words.h"
#include "tools/analysis/advice/changes.h"
#include "tools/analysis/advice/layer_turns.h"
#include "tools/analysis/advice/places.h"
#include "tools/analysis/explain/census_summary.h"

namespace vramstow {
namespace {

constexpr uint64_t kSmallPileParts = 20;

// True if the iterations are turns of a loop, and these are the layers of one model.
bool MayBeLayers(const FailureMoment& moment, const LeftoverBlocks& pile) {
  const Iterations::By by = moment.passes().by();
  if (by != Iterations::By::kLoop && by != Iterations::By::kForward) return false;
  std::vector<uint64_t> begins;
  for (const Iteration& pass : moment.passes().all()) begins.push_back(pass.begin);
  return AreLayers(moment, pile.lives, begins);
}

LeftoverBlocks CollectPile(const FailureMoment& moment) {
  LeftoverBlocks pile;
  if (moment.passes().all().size() < kLeastPasses) return pile;
  struct BySite {
    std::vector<const Life*> lives;
    std::set<int64_t> passes;
  };
  std::map<uint32_t, BySite> sites;
  for (const Life* life : moment.live()) {
    const int64_t pass = moment.PassOf(*life);
    if (pass < 0 || pass >= moment.pass() || !MayPileUp(moment, *life)) continue;
    BySite& site = sites[life->site];
    site.lives.push_back(life);
    site.passes.insert(pass);
  }
  for (auto& [number, site] : sites) {
    if (site.passes.size() < kLeastPasses) continue;
    pile.lives.insert(pile.lives.end(), site.lives.begin(), site.lives.end());
    pile.passes.insert(site.passes.begin(), site.passes.end());
  }
  if (MayBeLayers(moment, pile)) return {};
  const uint64_t bytes = BytesOf(pile.lives);
  for (const auto& [number, site] : sites) {
    if (site.passes.size() < kLeastPasses) continue;
    const uint64_t of_site = BytesOf(site.lives);
    if (of_site * kSmallPileParts < bytes) continue;
    pile.blocks += (site.lives.size() + site.passes.size() - 1) / site.passes.size();
    pile.graph_made |= moment.detail().sites[number].in_backward;
  }
  return pile;
}

// True if the inputs of these iterations were freed. If a graph existed, autograd would have saved
// them.
bool InputsAreGone(const FailureMoment& moment, const LeftoverBlocks& pile) {
  constexpr uint64_t kLeast = 1 << 12;
  const std::vector<Iteration>& passes = moment.passes().all();
  size_t gone = 0;
  for (const int64_t number : pile.passes) {
    const Iteration& pass = passes[static_cast<size_t>(number)];
    const Life* input = nullptr;  // the last one before the model runs
    bool runs = false;
    auto life = std::ranges::lower_bound(moment.detail().lives, pass.begin, {}, &Life::birth);
    for (; life != moment.detail().lives.end() && life->birth < pass.end && !runs; ++life) {
      if (!life->tensor) continue;
      runs = moment.site_of(*life).phase == Phase::kForward;
      if (!runs && life->size >= kLeast) input = &*life;
    }
    if (!runs || input == nullptr) continue;
    if (input->LivesAt(moment.event())) return false;
    ++gone;
  }
  return gone * 2 >= pile.passes.size();
}

// True if all blocks are copies of existing data, so that none of them is computed from another.
bool AreCopies(const FailureMoment& moment, const LeftoverBlocks& pile) {
  return std::ranges::all_of(pile.lives, [&](const Life* life) {
    const SiteDetail& site = moment.site_of(*life);
    const std::string_view name = OperatorName(site);
    return site.module.empty() && (name == "clone" || name == "_to_copy" || name == "to");
  });
}

// One block of each iteration counts as a result. Several blocks of each iteration count as a graph
// of the operations that led to the result, unless the census (a reference scan) shows otherwise.
bool IsGraph(const FailureMoment& moment, const LeftoverBlocks& pile) {
  const CensusSummary summary = SummarizeCensus(moment.holders(), pile.lives);
  if (summary.decides()) return summary.in_graph * 4 >= summary.known;
  if (pile.graph_made) return true;
  if (pile.blocks <= 1 || AreCopies(moment, pile)) return false;
  const bool without_gradients = std::ranges::all_of(
      pile.lives, [&](const Life* life) { return moment.passes().IsInference(life->birth); });
  return !without_gradients && !InputsAreGone(moment, pile);
}

// True if the model continued to compute after it had made this block. Then the block is not the
// result of the model's call.
bool IsInside(const FailureMoment& moment, const Life& made) {
  for (auto life = std::ranges::upper_bound(moment.detail().lives, made.birth, {}, &Life::birth);
       life != moment.detail().lives.end() && life->birth < moment.event(); ++life) {
    const Phase phase = moment.site_of(*life).phase;
    if (!life->tensor || life->pending || phase == Phase::kWorkspace) continue;
    return phase == Phase::kForward && moment.PassOf(*life) == moment.PassOf(made);
  }
  return false;
}

}  // namespace

bool MayPileUp(const FailureMoment& moment, const Life& life) {
  const SiteDetail& site = moment.site_of(life);
  return life.tensor && !site.in_optimizer && site.phase != Phase::kInit &&
         site.phase != Phase::kWorkspace;
}

LeftoverBlocks PileOf(const FailureMoment& moment) {
  LeftoverBlocks pile = CollectPile(moment);
  pile.is_graph = !pile.lives.empty() && IsGraph(moment, pile);
  return pile;
}

std::string PlaceOfPile(const FailureMoment& moment, const std::vector<const Life*>& lives,
                        bool stops_at_model) {
  const std::vector<HolderFacts> holders = moment.holders().OfAll(lives);
  if (!holders.empty()) {
    const std::string place = PlaceOfHolder(moment.detail(), lives, holders.front().holder);
    if (!place.empty()) return place;
  }
  const std::string place = CommonPlace(moment.detail(), lives, stops_at_model);
  return place.empty() ? PlaceInProgram(moment, lives) : place;
}

std::string RootOfHolder(const std::string& holder) {
  constexpr std::string_view kGlobal = "global ";
  const size_t colon = holder.find(": ");
  size_t from = holder.starts_with(kGlobal) ? kGlobal.size() : 0;
  if (colon != std::string::npos) from = colon + 2;
  return holder.substr(0, holder.find_first_of(".[ ", from));
}

Cause OfPile(const FailureMoment& moment, const LeftoverBlocks& pile) {
  Cause cause;
  cause.proof.grows = true;
  cause.held = pile.lives;
  cause.bytes = BytesOf(pile.lives);
  cause.change = FreedWithPass(moment, pile.lives);
  cause.place =
      PlaceOfPile(moment, pile.lives, pile.is_graph || !IsInside(moment, *pile.lives.back()));
  const uint64_t each = cause.bytes / pile.passes.size();
  cause.evidence = std::to_string(pile.passes.size()) + " iterations of the loop left " +
                   AdviceText(each) + " behind each, " + AdviceText(cause.bytes) +
                   " in all: " + LargestPlaces(moment.detail(), pile.lives) + ".";
  cause.cost = "None, if only the values are needed.";
  return cause;
}

void DescribeOneBackward(Cause* cause) {
  cause->title = "The autograd graphs of several iterations of a loop wait for one backward pass";
  cause->cost = "None: gradients add up.";
  cause->action =
      "Call backward() on each iteration's loss, divided by their number, instead of on the sum of "
      "all. If an iteration needs the one before, call backward() every few iterations, and "
      "detach() the state that is passed on.";
}

}  // namespace vramstow
