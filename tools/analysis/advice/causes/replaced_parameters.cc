// A cause of an out-of-memory: an optimizer holds parameters that were replaced, with their state.
#include <algorithm>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tools/analysis/advice/advice_words.h"
#include "tools/analysis/advice/changes.h"
#include "tools/analysis/advice/places.h"
#include "tools/analysis/advice/rule.h"

namespace vramstow {
namespace {

constexpr std::string_view kStateOf = ".state[";
constexpr std::string_view kKeyOfState = ".state[…]";

// The blocks that the state dictionaries of all optimizers hold.
struct StateOfOptimizers {
  // Parameters that only the dictionary refers to, as its keys.
  std::vector<const Life*> replaced;
  // The entries, in order of birth, by the names of optimizer and entry ("opt", "exp_avg") and by
  // size.
  std::map<std::pair<std::string, uint64_t>, std::vector<const Life*>> entries;
  uint64_t in_use_bytes = 0;  // bytes of other blocks that require a gradient
};

StateOfOptimizers OptimizersState(const FailureMoment& moment) {
  StateOfOptimizers state;
  for (const Life* life : moment.live()) {
    const HeldBlock* block = moment.holders().Of(*life);
    if (block == nullptr) continue;
    const std::string_view holder = block->holder;
    const bool requires_grad = block->about.find("requires grad") != std::string::npos;
    if (block->role != "optimizer_state") {
      const bool is_parameter = block->role == "parameter" || block->role == "other";
      if (is_parameter && requires_grad) state.in_use_bytes += life->size;
      continue;
    }
    const size_t begin = holder.find(kStateOf);
    if (begin == std::string_view::npos) continue;
    if (holder.ends_with(kKeyOfState)) {
      if (requires_grad) state.replaced.push_back(life);
      continue;
    }
    const size_t entry = holder.rfind("][");
    if (entry == std::string_view::npos) continue;
    std::string name(holder.substr(0, begin));
    name += holder.substr(entry + 1);
    state.entries[{std::move(name), life->size}].push_back(life);
  }
  return state;
}

// Returns the state of replaced parameters. For each kind of entry these are as many entries as
// there are replaced parameters of that size, the oldest first. *any_in_use is set if further
// entries exist, which belong to parameters that are in use.
std::vector<const Life*> EntriesOfReplaced(const StateOfOptimizers& state, bool* any_in_use) {
  std::vector<const Life*> old;
  for (const auto& [key, lives] : state.entries) {
    const size_t size = key.second;
    const auto replaced = static_cast<size_t>(std::ranges::count_if(
        state.replaced, [size](const Life* life) { return life->size == size; }));
    const size_t count = std::min(replaced, lives.size());
    old.insert(old.end(), lives.begin(), lives.begin() + static_cast<ptrdiff_t>(count));
    *any_in_use |= count < lives.size();
  }
  return old;
}

// Finds parameters that only an optimizer's state refers to, as keys, beside state of parameters
// that are in use. An optimizer that outlived its whole model does not count.
Found FindReplacedParameters(const FailureMoment& moment) {
  const StateOfOptimizers state = OptimizersState(moment);
  bool any_in_use = false;
  std::vector<const Life*> old = EntriesOfReplaced(state, &any_in_use);
  if (state.replaced.empty() || old.empty() || !any_in_use) return std::nullopt;
  uint64_t all = BytesOf(state.replaced) + state.in_use_bytes;
  for (const auto& [key, lives] : state.entries) all += BytesOf(lives);
  Cause cause;
  cause.held = old;
  cause.held.insert(cause.held.end(), state.replaced.begin(), state.replaced.end());
  std::ranges::sort(cause.held, {}, &Life::birth);
  cause.bytes = BytesOf(cause.held);
  if (!moment.IsLarge(cause.bytes)) return std::nullopt;
  cause.change = FreedBefore(moment.detail(), cause.held, moment.pass_begin());
  if (moment.pass_begin() == 0) cause.change = Without(moment.detail(), cause.held);
  cause.proof.grows = true;
  cause.title = "The state of replaced parameters stays in the optimizer (" + AdviceText(all) +
                " in all rounds)";
  cause.place = PlaceInProgram(moment, old);
  cause.evidence =
      std::to_string(state.replaced.size()) +
      " parameters were replaced, and optimizer.state still contains them and their state: " +
      AdviceText(cause.bytes) +
      ". With the parameters that are in use and their "
      "state, all rounds together take " +
      AdviceText(all) + ".";
  cause.cost = "None.";
  cause.action =
      "When the program replaces a parameter, remove the old one from the optimizer: state = "
      "optimizer.state.pop(old), and assign that state to the new parameter.";
  return cause;
}

}  // namespace

constinit const Rule kReplacedParameters = {
    .rank = Rank::kMistake,
    .meaning = "an optimizer that still has the state of parameters that were replaced",
    .help =
        "optimizer.state is a dictionary whose keys are the parameters. If a program replaces a "
        "parameter (to grow, split or prune it), the old one stays there with its state. Remove it "
        "with optimizer.state.pop(old).",
    .needs = {kNeedsCensus, kNeedsOptimizerWork},
    .cause = FindReplacedParameters,
};

}  // namespace vramstow
