// A cause of an out-of-memory: two optimizers for the same parameters.
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "tools/analysis/advice/advice_words.h"
#include "tools/analysis/advice/changes.h"
#include "tools/analysis/advice/places.h"
#include "tools/analysis/advice/rule.h"
#include "tools/analysis/advice/rule_table.h"
#include "tools/analysis/advice/training_state.h"

namespace vramstow {
namespace {

// The parts of "main: schedulers[3].optimizer.state[model.0.weight]["exp_avg"]": an optimizer, and
// the parameter that the state belongs to.
struct StateName {
  std::string_view optimizer;
  std::string_view parameter;
};
std::optional<StateName> NameOfState(std::string_view holder) {
  constexpr std::string_view kState = ".state[";
  const size_t begin = holder.find(kState);
  const size_t end = holder.rfind("][");
  if (begin == std::string_view::npos || end == std::string_view::npos || end < begin) {
    return std::nullopt;
  }
  const size_t from = begin + kState.size();
  return StateName{holder.substr(0, begin), holder.substr(from, end - from)};
}

// Returns state of optimizers for whose parameters a later optimizer has made state, according to a
// census.
std::vector<const Life*> OfEarlierOptimizers(const FailureMoment& moment,
                                             const std::vector<const Life*>& state,
                                             size_t* optimizers) {
  std::map<std::string_view, std::string_view> latest;  // by parameter
  std::set<std::string_view> names;
  std::vector<const Life*> earlier;
  for (auto life = state.rbegin(); life != state.rend(); ++life) {
    const HeldBlock* block = moment.holders().Of(**life);
    const auto name = block == nullptr ? std::nullopt : NameOfState(block->holder);
    if (!name.has_value()) continue;
    names.insert(name->optimizer);
    const auto [known, is_new] = latest.emplace(name->parameter, name->optimizer);
    if (!is_new && known->second != name->optimizer) earlier.push_back(*life);
  }
  *optimizers = names.size();
  return earlier;
}

// True if there are enough parameters of these sizes that the state may belong to different
// parameters, as in a GAN, which has an optimizer for each of its two models. Each line of an
// optimizer's step allocates one block for each parameter.
bool AreOfOtherParameters(const FailureMoment& moment, const std::vector<const Life*>& old,
                          const std::vector<const Life*>& fresh) {
  std::set<std::string> lines;
  std::map<uint64_t, uint64_t> blocks;  // by size
  for (const auto* lives : {&old, &fresh}) {
    for (const Life* life : *lives) {
      lines.insert(PlaceOf(moment.detail(), life->site));
      ++blocks[life->size];
    }
  }
  std::map<uint64_t, uint64_t> parameters;
  for (const Life* life : moment.live()) {
    const HeldBlock* block = moment.holders().Of(*life);
    const bool is_one =
        block != nullptr ? block->role == "parameter" : moment.site_of(*life).phase == Phase::kInit;
    if (life->tensor && is_one) ++parameters[life->size];
  }
  return std::ranges::all_of(blocks, [&](const auto& one) {
    const auto known = parameters.find(one.first);
    return known != parameters.end() && one.second <= known->second * lines.size();
  });
}

// Returns state that was live before this iteration began, if state of the same sizes was allocated
// again in this iteration.
std::vector<const Life*> OfEarlierPasses(const FailureMoment& moment,
                                         const std::vector<const Life*>& state,
                                         std::vector<const Life*>* fresh) {
  std::vector<const Life*> old;
  for (const Life* life : state) {
    const std::string_view name = OperatorName(moment.site_of(*life));
    if (name.find("zero") == std::string_view::npos &&
        name.find("full") == std::string_view::npos) {
      continue;
    }
    (moment.PassOf(*life) < moment.pass() ? &old : fresh)->push_back(life);
  }
  // Both optimizers must have made state for parameters of the same sizes.
  absl::flat_hash_set<uint64_t> sizes;
  for (const Life* life : old) sizes.insert(life->size);
  std::erase_if(*fresh, [&](const Life* life) { return !sizes.contains(life->size); });
  if (fresh->empty() || BytesOf(*fresh) * 8 < BytesOf(old) ||
      AreOfOtherParameters(moment, old, *fresh)) {
    old.clear();
  }
  return old;
}

// Reports that there are several optimizers, whichever of them steps now.
Found DescribeSeveralOptimizers(const FailureMoment& moment,
                                const std::vector<const Life*>& earlier, size_t optimizers) {
  Cause cause;
  cause.bytes = BytesOf(earlier);
  cause.held = earlier;
  cause.change = FreedBefore(moment.detail(), earlier, moment.pass_begin());
  cause.place = PlaceOfStep(moment, earlier);
  cause.title = "Earlier optimizers for the same parameters stay, with their state";
  cause.evidence = std::to_string(optimizers) + " optimizers have state, and " +
                   AdviceText(cause.bytes) + " of it do not belong to the last one.";
  cause.cost = "None, if the earlier ones are not needed any more.";
  cause.action =
      "Use one optimizer and change its param_groups, or delete each one before the next is "
      "created; its scheduler references it, too.";
  return cause;
}

// An optimizer allocates its state once for each parameter. If such state is allocated again,
// another optimizer does it.
Found FindSecondOptimizer(const FailureMoment& moment) {
  // State of another model is not for the same parameters.
  if (IsFound(moment, {AdviceId::kEarlierModels, AdviceId::kKeptError, AdviceId::kDeadCycles})) {
    return std::nullopt;
  }
  const std::vector<const Life*> state = OfOptimizer(moment, false);
  std::vector<const Life*> fresh;
  const std::vector<const Life*> old = OfEarlierPasses(moment, state, &fresh);
  if (old.empty()) {
    size_t optimizers = 0;
    const std::vector<const Life*> earlier = OfEarlierOptimizers(moment, state, &optimizers);
    if (!moment.IsLarge(BytesOf(earlier))) return std::nullopt;
    return DescribeSeveralOptimizers(moment, earlier, optimizers);
  }
  Cause cause;
  cause.bytes = BytesOf(old);
  if (!moment.IsLarge(cause.bytes)) return std::nullopt;
  cause.title = "A second optimizer allocates its own state for the same parameters";
  cause.held = old;
  cause.change = FreedBefore(moment.detail(), old, moment.pass_begin());
  cause.place = PlaceOfStep(moment, fresh);
  cause.evidence =
      AdviceText(cause.bytes) +
      " of state were already live before this iteration, and this step allocates state "
      "of the same sizes again (" +
      AdviceText(BytesOf(fresh)) + " so far).";
  cause.cost = "None, if the first one is not needed any more.";
  cause.action =
      "Use one optimizer and change its param_groups, or delete the first one (del), with its "
      "scheduler, before the second one steps.";
  return cause;
}

}  // namespace

constinit const Rule kSecondOptimizer = {
    .rank = Rank::kMistake,
    .meaning = "two optimizers for the same parameters",
    .help =
        "An optimizer allocated state before this iteration, and this step allocates state of the "
        "same sizes again, or a census finds state of several optimizers for one parameter: "
        "there are two optimizers for the same parameters. Use one optimizer and change its "
        "param_groups, or delete the first one, with its scheduler, before the second one steps.",
    .needs = {kNeedsOptimizerWork},
    .cause = FindSecondOptimizer,
};

}  // namespace vramstow
