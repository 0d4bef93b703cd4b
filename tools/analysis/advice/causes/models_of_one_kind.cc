// A cause of an out-of-memory: two models whose parameters have the same sizes, neither of which is
// known to be a copy.
#include <vector>

#include "tools/analysis/advice/advice_words.h"
#include "tools/analysis/advice/changes.h"
#include "tools/analysis/advice/parameter_sets.h"
#include "tools/analysis/advice/places.h"
#include "tools/analysis/advice/rule.h"
#include "tools/analysis/advice/rule_table.h"

namespace vramstow {
namespace {

// Returns the blocks of a model that was made directly after the model `sets[number]`, of the same
// sizes.
std::vector<const Life*> AnotherOf(const FailureMoment& moment,
                                   const std::vector<ParameterSet>& sets, size_t number) {
  const ParameterSet& first = sets[number];
  std::vector<const Life*> another;
  for (size_t k = number + 1; k < sets.size() && another.empty(); ++k) {
    if (Repeats(first, sets[k])) another = sets[k].live;
  }
  if (another.empty()) another = CopiesOf(moment, first);
  const bool are_two = !another.empty() && AreMadeTogether(moment, first.live, another) &&
                       !AreBothTrained(moment, first.live, another);
  return are_two ? another : std::vector<const Life*>();
}

Found FindModelsOfOneKind(const FailureMoment& moment) {
  if (IsFound(moment, {AdviceId::kEarlierModels})) return std::nullopt;
  const std::vector<ParameterSet> sets = ParameterSetsOf(moment);
  for (size_t i = 0; i < sets.size(); ++i) {
    const std::vector<const Life*> another = AnotherOf(moment, sets, i);
    Cause cause;
    cause.bytes = sets[i].bytes;
    if (another.empty() || !moment.IsLarge(cause.bytes)) continue;
    cause.held = sets[i].live;
    cause.change = Without(moment.detail(), cause.held);
    cause.held.insert(cause.held.end(), another.begin(), another.end());
    cause.title = "Two models whose parameters have the same sizes are on the GPU";
    cause.place = PlaceInProgram(moment, another);
    cause.evidence = LargestPlaces(moment.detail(), cause.held) +
                     " made parameters of the same sizes, one model directly after the other. "
                     "Nothing shows whether one is a copy of the other.";
    cause.cost = "A transfer each time when the program uses the other model.";
    cause.action =
        "If only one of them works at a time, keep the other one on the host meanwhile "
        "(model.cpu()), or use vramstow run --pool=on --offload=auto, which moves memory that is "
        "not needed. If one of them is not needed any more, delete it (model = None).";
    return cause;
  }
  return std::nullopt;
}

}  // namespace

constinit const Rule kModelsOfOneKind = {
    .rank = Rank::kTrade,
    .meaning = "two models whose parameters have the same sizes, made one directly after the other",
    .help =
        "Two lines made parameters of the same sizes, and nothing was computed between them: two "
        "models of the same kind, as an actor and a critic, or a model and its copy. If only one "
        "of them works at a time, keep the other one on the host. If the program trains both, they "
        "are not reported.",
    .needs = {kNeedsParameters},
    .cause = FindModelsOfOneKind,
};

}  // namespace vramstow
