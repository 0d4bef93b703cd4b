// A cause of an out-of-memory: each iteration leaves a graph behind. It is held by a list or sum of
// losses, by a state that is passed from iteration to iteration, or by outputs of an evaluation.
#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "tools/analysis/advice/changes.h"
#include "tools/analysis/advice/layer_turns.h"
#include "tools/analysis/advice/leftover_blocks.h"
#include "tools/analysis/advice/no_backward.h"
#include "tools/analysis/advice/places.h"
#include "tools/analysis/advice/rule.h"
#include "tools/analysis/explain/census_summary.h"

namespace vramstow {
namespace {

// True if a backward pass ran while the second half of these blocks was allocated. In an evaluation
// there is no backward pass.
bool IsTrained(const FailureMoment& moment, std::vector<const Life*> lives) {
  const auto middle = lives.begin() + static_cast<ptrdiff_t>(lives.size() / 2);
  std::ranges::nth_element(lives, middle, {}, &Life::birth);
  const uint64_t first = (*middle)->birth;
  auto life = std::ranges::lower_bound(moment.detail().lives, first, {}, &Life::birth);
  for (; life != moment.detail().lives.end() && life->birth < moment.event(); ++life) {
    if (life->tensor && !life->pending && moment.site_of(*life).in_backward) return true;
  }
  return false;
}

// True if autograd recorded a graph of a backward pass. Signs are tensors that are saved by nodes
// with names such as "TanhBackwardBackward0", and gradients of parameters that were made by a node.
bool HasGraphOfGradients(const FailureMoment& moment) {
  return std::ranges::any_of(moment.live(), [&](const Life* life) {
    const HeldBlock* block = moment.holders().Of(*life);
    if (block == nullptr) return false;
    return block->holder.find("BackwardBackward") != std::string::npos ||
           (block->role == "gradient" && block->about.find("made by") != std::string::npos);
  });
}

// True if there is an optimizer and no backward pass has run yet. Then the backward pass may still
// come, and what looks like iterations may be the layers of the first step.
bool MayBeFirstStep(const FailureMoment& moment) {
  const ParameterWords parameters = ParametersOf(moment.holders(), moment.live());
  return !moment.passes().is_sure() && !TrainsAnywhere(moment) && parameters.evaluating == 0 &&
         parameters.untrained * 2 < parameters.all;
}

// Returns the variable whose graph holds most of these blocks; empty if a list holds them, or the
// owner is unknown.
std::string OneVariable(const FailureMoment& moment, const std::vector<const Life*>& lives) {
  std::map<std::string, uint64_t> by_root;
  for (const HolderFacts& one : moment.holders().OfAll(lives)) {
    const std::string root = one.holder.substr(0, one.holder.find(".grad_fn"));
    const bool is_graph = root.size() < one.holder.size();
    if (is_graph && root.find('[') == std::string::npos) by_root[root] += one.amount.bytes;
  }
  for (const auto& [root, bytes] : by_root) {
    if (bytes * 2 > BytesOf(lives)) return root;
  }
  return "";
}

// Returns the list, queue or dictionary whose items' graphs hold most of these blocks, for example
// "model.queue"; empty if there is none. If all blocks are held by one item, it is a state that is
// passed on, such as that of an LSTM, "net.hidden[1]".
std::string ContainerOf(const FailureMoment& moment, const std::vector<const Life*>& lives) {
  std::map<std::string, uint64_t> by_name;
  std::map<std::string, std::set<std::string>> items;
  for (const Life* life : lives) {
    const HeldBlock* block = moment.holders().Of(*life);
    if (block == nullptr) continue;
    const std::string root = block->holder.substr(0, block->holder.find(".grad_fn"));
    const size_t item = root.find('[');
    if (root.size() == block->holder.size() || item == std::string::npos) continue;
    const size_t function = root.find(": ");  // "main: model.queue"
    const size_t begin = function < item ? function + 2 : 0;
    const std::string name = root.substr(begin, item - begin);
    by_name[name] += life->size;
    items[name].insert(root.substr(item));
  }
  for (const auto& [name, bytes] : by_name) {
    if (bytes * 2 > BytesOf(lives) && items[name].size() > 1) return name;
  }
  return "";
}

std::string_view FunctionOf(std::string_view line) {
  return line.substr(std::min(line.find(' '), line.size()));
}

// True if one variable adds up the losses of these iterations.
bool AddsUpNumbers(const FailureMoment& moment, const LeftoverBlocks& pile) {
  return !OneVariable(moment, pile.lives).empty() &&
         GraphRootOf(moment, pile.lives) == GraphRoot::kNumber;
}

// True if the program calls the model in a loop and adds up the results in one variable. The
// function that calls the model then allocates memory on at least one other line in each turn of
// the loop, for example on the line that adds. This distinguishes such a loop from a model that
// loops over its layers: that loop is inside the model, so the function allocates only on the line
// of the call.
bool AddsUpTurns(const FailureMoment& moment, const LeftoverBlocks& pile) {
  constexpr size_t kLeastTurns = 8;
  const Detail& detail = moment.detail();
  const std::string call = CommonPlace(detail, pile.lives, true);
  if (pile.passes.size() < kLeastTurns || call.empty()) return false;
  if (OneVariable(moment, pile.lives).empty()) return false;
  if (GraphRootOf(moment, pile.lives) == GraphRoot::kTensor) return false;
  std::set<int64_t> turns;
  for (const Life& life : detail.lives) {
    if (life.birth >= moment.event()) break;
    if (!life.tensor || life.pending) continue;
    const bool is_other = std::ranges::any_of(moment.site_of(life).own, [&](const CodeLine& line) {
      const std::string& text = detail.lines[line.text];
      return text != call && FunctionOf(text) == FunctionOf(call);
    });
    if (is_other) turns.insert(moment.PassOf(life));
  }
  return turns.size() >= pile.passes.size() / 2;
}

// True if a loop of the program that calls no module made one graph, and one variable holds it: a
// backward pass after the loop may need all of it.
bool IsUnrolledLoop(const FailureMoment& moment, const std::vector<const Life*>& lives) {
  const bool any_module = std::ranges::any_of(lives, [&](const Life* life) {
    return !moment.site_of(*life).module.empty() || moment.site_of(*life).in_backward;
  });
  return !any_module && !OneVariable(moment, lives).empty();
}

// True if an optimizer waits for its first gradients (the existing ones were made by
// torch.autograd.grad()) and one variable adds up the results of a loop.
bool WaitsForBackward(const FailureMoment& moment, const std::vector<const Life*>& lives) {
  const ParameterWords parameters = ParametersOf(moment.holders(), moment.live());
  return parameters.all > 0 && parameters.untrained * 2 < parameters.all &&
         moment.passes().by() != Iterations::By::kOptimizer &&
         !moment.passes().HasCalledBackward(moment.event()) && !OneVariable(moment, lives).empty();
}

// True if the backward pass that makes the request is the first one since the graphs were recorded,
// and the current iteration recorded one like them. Then this backward pass goes through all of
// them.
bool WaitedTogether(const FailureMoment& moment, const std::vector<const Life*>& lives) {
  if (!moment.request_site().in_backward) return false;
  const auto first = std::ranges::min_element(lives, {}, &Life::birth);
  std::set<uint32_t> sites;
  for (const Life* life : lives) sites.insert(life->site);
  bool is_like_them = false;
  bool has_begun = false;  // the backward pass
  auto life = std::ranges::lower_bound(moment.detail().lives, (*first)->birth, {}, &Life::birth);
  for (; life != moment.detail().lives.end() && life->birth < moment.event(); ++life) {
    if (!life->tensor || life->pending) continue;
    has_begun |= moment.site_of(*life).in_backward;
    if (!sites.contains(life->site)) continue;
    if (has_begun) return false;
    is_like_them |= moment.PassOf(*life) == moment.pass() && life->LivesAt(moment.event());
  }
  return is_like_them;
}

// Adds the blocks of the current iteration. If nothing is trained, its graph is not needed either.
void AddPassThatRuns(const FailureMoment& moment, Cause* cause) {
  std::set<uint32_t> sites;
  for (const Life* life : cause->held) sites.insert(life->site);
  std::vector<const Life*> made;
  for (const Life* life : moment.live()) {
    const HeldBlock* block = moment.holders().Of(*life);
    if (moment.PassOf(*life) != moment.pass() || !sites.contains(life->site)) continue;
    if (block != nullptr && IsInGraph(*block)) made.push_back(life);
  }
  const Change change = FreedBefore(moment.detail(), made, moment.event());
  cause->change.lives.insert(cause->change.lives.end(), change.lives.begin(), change.lives.end());
  cause->held.insert(cause->held.end(), made.begin(), made.end());
  cause->bytes += BytesOf(made);
}

// True if the block is the latest of small tensors that a line of a method makes in each iteration.
bool MakesNumbers(const FailureMoment& moment, const Life& life) {
  constexpr uint64_t kMaxOfNumber = 512;  // the smallest block that PyTorch hands out
  const SiteDetail& site = moment.site_of(life);
  if (!life.tensor || life.size > kMaxOfNumber || site.own.empty() || site.in_backward ||
      site.in_optimizer || site.phase == Phase::kForward || site.allocations < kLeastPasses) {
    return false;
  }
  const std::string& line = moment.detail().lines[site.own.back().text];
  return line.find('.', line.find(' ')) != std::string::npos;
}

// If an attribute of an object ("monitor.smooth") accumulates the graphs, returns the line of the
// method that made its current tensor; empty if there is no such attribute, or the line is not
// known.
std::string PlaceOfAccumulator(const FailureMoment& moment, const std::vector<const Life*>& lives) {
  const std::vector<HolderFacts> holders = moment.holders().OfAll(lives);
  if (holders.empty()) return "";
  const std::string& chain = holders.front().holder;
  const std::string name = chain.substr(0, chain.find(".grad_fn"));
  if (name.size() == chain.size() || name.find('[') != std::string::npos) return "";
  if (RootOfHolder(name).size() == name.size()) return "";
  const auto made = std::find_if(moment.live().rbegin(), moment.live().rend(),
                                 [&](const Life* life) { return MakesNumbers(moment, *life); });
  if (made == moment.live().rend()) return "";
  return moment.detail().lines[moment.site_of(**made).own.back().text];
}

void DescribeUnrolledLoop(Cause* cause) {
  cause->is_estimate = true;  // the state that is passed from turn to turn stays live
  cause->title = "The autograd graph of a loop grows with each iteration of the loop";
  cause->evidence += " One variable's graph holds all of them.";
  cause->cost = "Recomputation makes an iteration about a third longer.";
  cause->action =
      "If backward() comes after the loop, put torch.utils.checkpoint around a few iterations at a "
      "time, run fewer iterations, or call detach() every few of them. If there is no backward(), "
      "run the loop under torch.no_grad().";
}

Found FindHeldGraphs(const FailureMoment& moment) {
  const LeftoverBlocks pile = PileOf(moment);
  if (!pile.is_graph) return std::nullopt;
  const bool is_first_step = MayBeFirstStep(moment);
  if (is_first_step && !AddsUpNumbers(moment, pile) && !AddsUpTurns(moment, pile)) {
    return std::nullopt;
  }
  Cause cause = OfPile(moment, pile);
  if (!moment.IsLarge(cause.bytes)) return std::nullopt;
  cause.title = "Autograd graphs of earlier iterations are still live";
  // The graph holds the input of the model and its results. Only the results count here.
  std::vector<const Life*> made;
  for (const Life* life : pile.lives) {
    if (moment.site_of(*life).phase == Phase::kForward) made.push_back(life);
  }
  if (!made.empty()) cause.place = PlaceOfPile(moment, made, true);
  const std::string accumulator = PlaceOfAccumulator(moment, pile.lives);
  if (!accumulator.empty()) cause.place = accumulator;
  const bool trains = IsTrained(moment, pile.lives);
  cause.evidence +=
      trains ? " The graphs hold more than the results: autograd saved tensors for a backward pass."
             : " The graphs hold more than the results: autograd saved tensors for a backward pass "
               "that never comes.";
  cause.action = trains ? "Store loss.item() instead of the loss, call detach() on the state that "
                          "is passed to the next iteration, and leave retain_graph out."
                        : "Run it under torch.no_grad() or torch.inference_mode(); store "
                          "loss.item() instead of a loss.";
  const std::string container = ContainerOf(moment, pile.lives);
  if (trains && !container.empty()) {
    cause.action = "The items of " + container +
                   " reference autograd graphs: store numbers (loss.item()) or detached tensors "
                   "(.detach()) there, or compute them under torch.no_grad().";
  }
  if (!trains && IsInferenceOnly(moment)) {
    AddPassThatRuns(moment, &cause);
    cause.title = "Autograd graphs are recorded although backward() is not called";
    cause.cost = "None.";
    return cause;
  }
  const bool comes_later = is_first_step && !IsCalledEvaluation(moment);
  if (comes_later || WaitedTogether(moment, pile.lives) ||
      (trains && WaitsForBackward(moment, pile.lives))) {
    DescribeOneBackward(&cause);
    return cause;
  }
  if (!trains && IsUnrolledLoop(moment, pile.lives)) {
    DescribeUnrolledLoop(&cause);
    return cause;
  }
  if (HasGraphOfGradients(moment)) {
    cause.evidence += " Gradients have a graph of their own, which create_graph=True records.";
    const std::string about =
        "Use create_graph=True only if gradients are differentiated again, and call "
        "torch.autograd.grad() there: after backward(create_graph=True) a parameter and its "
        "gradient reference each other, until p.grad = None.";
    // If Python objects held the tensors, the census (a reference scan) would have found these
    // objects, provided that it found the owners of other tensors.
    const bool is_held = SummarizeCensus(moment.holders(), pile.lives).decides();
    cause.action = is_held ? cause.action + " " + about : about + " Otherwise: " + cause.action;
  }
  return cause;
}

}  // namespace

constinit const Rule kHeldGraphs = {
    .rank = Rank::kMistake,
    .meaning =
        "each iteration leaves an autograd graph behind: a list or sum of losses, a state that is "
        "passed on, outputs of an evaluation",
    .help =
        "Blocks of at least three earlier iterations are live, and more than one result for each "
        "iteration: a reference to a tensor keeps the autograd graph that computed it. Store "
        "loss.item() instead of the loss, call detach() on the state that is passed to the next "
        "iteration, and run an evaluation under torch.no_grad().",
    .needs = {kNeedsGraph, kNeedsEarlierIteration},
    .cause = FindHeldGraphs,
};

}  // namespace vramstow
