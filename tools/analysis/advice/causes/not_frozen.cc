// A cause of an out-of-memory: gradients of parameters that no optimizer has.
#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "tools/analysis/advice/advice_words.h"
#include "tools/analysis/advice/changes.h"
#include "tools/analysis/advice/places.h"
#include "tools/analysis/advice/rule.h"
#include "tools/analysis/explain/census_summary.h"

namespace vramstow {
namespace {

// Counts parameters that no optimizer has and that have a gradient, or will have one when the
// backward pass is over.
Found FindNotFrozen(const FailureMoment& moment) {
  const ParameterWords parameters = ParametersOf(moment.holders(), moment.live());
  // A program without an optimizer may use the gradients itself.
  if (parameters.untrained == 0 || parameters.untrained == parameters.all) return std::nullopt;
  std::set<std::string> names;
  for (const Life* life : parameters.of_untrained) {
    names.insert(moment.holders().Of(*life)->holder + ".grad");
  }
  // If autograd's graphs hold much memory for parameters that no optimizer has, the program
  // probably only evaluates a model and needs no graph. The cause needless_graph reports such
  // graphs.
  if (BytesOf(SavedForUntrained(moment.holders(), moment.live())) > parameters.untrained) {
    return std::nullopt;
  }
  Cause cause;
  for (const Life* life : moment.live()) {
    const HeldBlock* block = moment.holders().Of(*life);
    if (block == nullptr || block->role != "gradient") continue;
    if (names.contains(block->holder)) cause.held.push_back(life);
  }
  const uint64_t gradients = BytesOf(cause.held);
  if (cause.held.empty()) return std::nullopt;
  cause.bytes = moment.request_site().in_backward ? parameters.untrained : gradients;
  if (!moment.IsLarge(cause.bytes)) return std::nullopt;
  cause.change = Without(moment.detail(), cause.held);
  cause.change.spared_later = cause.bytes - std::min(cause.bytes, gradients);
  cause.is_estimate = cause.bytes > gradients;
  cause.title = "Parameters that are in no optimizer get gradients";
  cause.place = PlaceInProgram(moment, parameters.of_untrained);
  cause.evidence = AdviceText(parameters.untrained) +
                   " of parameters are in no optimizer and record gradients; " +
                   AdviceText(gradients) + " of their gradients are live.";
  cause.cost = "None, if an optimizer should not train them.";
  cause.action =
      "Freeze them before the first step: call requires_grad_(False) on the layers that are not "
      "trained. This also saves the memory that autograd saves for them.";
  return cause;
}

}  // namespace

constinit const Rule kNotFrozen = {
    .rank = Rank::kMistake,
    .meaning = "gradients of parameters that are in no optimizer",
    .help =
        "Parameters that are in no optimizer are not frozen, and get gradients that are not used. "
        "Call requires_grad_(False) on them.",
    .needs = {kNeedsParameters, kNeedsBackwardPass},
    .cause = FindNotFrozen,
};

}  // namespace vramstow
