// A cause of an out-of-memory: a graph is still held although a backward pass has run since.
#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/str_replace.h"
#include "tools/analysis/advice/advice_words.h"
#include "tools/analysis/advice/changes.h"
#include "tools/analysis/advice/last_backward.h"
#include "tools/analysis/advice/leftover_blocks.h"
#include "tools/analysis/advice/places.h"
#include "tools/analysis/advice/rule.h"
#include "tools/analysis/explain/census_summary.h"

namespace vramstow {
namespace {

constexpr size_t kLeastRetained = 3;

// Returns "train: loss" for "train: loss.grad_fn → saved by MulBackward0".
std::string VariableOf(const std::string& holder) {
  return holder.substr(0, holder.find(".grad_fn"));
}

// Returns the blocks that the graph of one variable has saved and that were live before the
// backward pass at `begin`. If several variables have such graphs, the one that holds most bytes is
// used, because the program may still need the blocks of the others.
std::vector<const Life*> SavedBefore(const FailureMoment& moment, uint64_t begin,
                                     std::string* variable) {
  std::map<std::string, std::vector<const Life*>> saved;
  for (const Life* life : moment.live()) {
    const HeldBlock* block = moment.holders().Of(*life);
    if (block == nullptr || life->birth >= begin || !MayPileUp(moment, *life)) continue;
    if (moment.site_of(*life).in_backward || !IsInGraph(*block)) continue;
    const std::string name = VariableOf(block->holder);
    if (name.size() < block->holder.size()) saved[PatternOf(name)].push_back(life);
  }
  std::vector<const Life*> most;
  for (auto& [name, lives] : saved) {
    if (BytesOf(lives) <= BytesOf(most)) continue;
    *variable = absl::StrReplaceAll(name, {{"#", "…"}});
    most = std::move(lives);
  }
  return most;
}

// Returns advice for a graph that the running backward pass reaches: a state connects it with the
// iteration that runs.
std::string ForState(const std::string& variable) {
  return "Call detach() on " + variable +
         " before it is passed to the next iteration, and leave retain_graph=True out.";
}

std::string ForResult(const std::string& variable) {
  return "Leave retain_graph=True out. If two losses share a graph, add them and call backward() "
         "once, or detach() what one of them reads (fake.detach()). If " +
         variable + " has no backward pass, compute it under torch.no_grad(), or delete it.";
}

Found FindRetainedGraph(const FailureMoment& moment) {
  const SiteDetail& request = moment.request_site();
  if (request.in_optimizer || (request.in_backward && !moment.passes().is_sure())) {
    return std::nullopt;
  }
  // While a backward pass runs, the last one that ended is that of the iteration before.
  const LastBackward backward = request.in_backward
                                    ? LastBackwardBefore(moment, moment.pass_begin())
                                    : LastBackwardOf(moment);
  if (backward.begin == 0) return std::nullopt;
  const LeftoverBlocks pile = PileOf(moment);
  std::string variable;
  Cause cause;
  cause.held = SavedBefore(moment, backward.begin, &variable);
  cause.bytes = BytesOf(cause.held);
  if (cause.held.size() < kLeastRetained || !moment.IsLarge(cause.bytes)) return std::nullopt;
  // If each of many iterations left its graph, another cause (kHeldGraphs) reports it.
  if (pile.is_graph && BytesOf(pile.lives) * 2 > cause.bytes) return std::nullopt;
  cause.change = request.in_backward ? FreedWithPass(moment, cause.held)
                                     : FreedBefore(moment.detail(), cause.held, backward.end + 1);
  cause.title = "An autograd graph stays after its backward pass";
  cause.place = CommonPlace(moment.detail(), cause.held, true);
  if (cause.place.empty()) cause.place = PlaceInProgram(moment, cause.held);
  cause.evidence =
      AdviceText(cause.bytes) +
      " that autograd had saved before the last backward pass were still live after it: " +
      LargestPlaces(moment.detail(), cause.held) +
      ". backward() frees what its graph saved, unless retain_graph=True.";
  cause.cost = "None.";
  cause.action = request.in_backward ? ForState(variable) : ForResult(variable);
  return cause;
}

}  // namespace

constinit const Rule kRetainedGraph = {
    .rank = Rank::kMistake,
    .meaning = "an autograd graph that stays although a backward pass has run since",
    .help =
        "Tensors that autograd saved before the last backward pass are still live: "
        "retain_graph=True keeps them as long as a variable references the result. Leave "
        "retain_graph out, add losses that share a graph, or detach() what one of them reads.",
    .needs = {kNeedsBackwardPass, kNeedsCensus},
    .cause = FindRetainedGraph,
};

}  // namespace vramstow
