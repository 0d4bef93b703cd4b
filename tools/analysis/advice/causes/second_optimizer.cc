// A cause: two optimizers for the same parameters.
#include <string>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "tools/analysis/advice/advice_words.h"
#include "tools/analysis/advice/changes.h"
#include "tools/analysis/advice/rule.h"
#include "tools/analysis/advice/table.h"
#include "tools/analysis/advice/training_state.h"

namespace vramstow {
namespace {

// State is made once for each parameter. Another optimizer makes it again.
Found FindSecondOptimizer(const FailureMoment& moment) {
  // State of another model is not for the same parameters.
  if (IsFound(moment, {AdviceId::kEarlierModels, AdviceId::kKeptError, AdviceId::kDeadCycles})) {
    return std::nullopt;
  }
  const std::vector<const Life*> state = OfOptimizer(moment, false);
  std::vector<const Life*> old;
  std::vector<const Life*> fresh;
  for (const Life* life : state) {
    const std::string_view name = OperatorName(moment.site_of(*life));
    if (name.find("zero") == std::string_view::npos &&
        name.find("full") == std::string_view::npos) {
      continue;
    }
    (moment.PassOf(*life) < moment.pass() ? old : fresh).push_back(life);
  }
  // Both have made some for the same parameters.
  absl::flat_hash_set<uint64_t> sizes;
  for (const Life* life : old) sizes.insert(life->size);
  std::erase_if(fresh, [&](const Life* life) { return !sizes.contains(life->size); });
  Cause cause;
  cause.bytes = BytesOf(old);
  if (fresh.empty() || BytesOf(fresh) * 8 < cause.bytes || !moment.IsLarge(cause.bytes)) {
    return std::nullopt;
  }
  cause.title = "A second optimizer makes state of its own for the same parameters";
  cause.held = old;
  cause.change = FreedBefore(moment.detail(), old, moment.pass_begin());
  cause.place = PlaceOfStep(moment, fresh);
  cause.evidence =
      AdviceText(cause.bytes) +
      " of state were there from before this iteration, and this step makes state of the "
      "same sizes again (" +
      AdviceText(BytesOf(fresh)) + " so far).";
  cause.cost = "None, if the first one has done its work.";
  cause.action =
      "Keep one optimizer and change its param_groups, or delete the first one (del), with its "
      "scheduler, before the second one steps.";
  return cause;
}

}  // namespace

constinit const Rule kSecondOptimizer = {
    .rank = Rank::kMistake,
    .meaning = "two optimizers for the same parameters",
    .help =
        "An optimizer made state before this iteration, and this step makes state of the same "
        "sizes "
        "again: there are two optimizers for the same parameters. Keep one and change its "
        "param_groups, or delete the first one, with its scheduler, before the second one steps.",
    .cause = FindSecondOptimizer,
};

}  // namespace vramstow
