// A cause of an out-of-memory: weights that torch.nn.utils.prune stores three times.
#include <set>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/strip.h"
#include "tools/analysis/advice/advice_words.h"
#include "tools/analysis/advice/changes.h"
#include "tools/analysis/advice/places.h"
#include "tools/analysis/advice/rule.h"
#include "tools/analysis/explain/census_summary.h"

namespace vramstow {
namespace {

constexpr char kOriginal[] = "_orig";
constexpr char kMask[] = "_mask";

// Returns the names of weights ("m.0.weight") whose module has "m.0.weight_orig".
// torch.nn.utils.prune (PyTorch's torch/nn/utils/prune.py) gives that name to the parameter that
// replaces the weight.
std::set<std::string> PrunedNames(const FailureMoment& moment) {
  std::set<std::string> names;
  for (const Life* life : moment.live()) {
    const HeldBlock* block = moment.holders().Of(*life);
    if (block == nullptr || !absl::EndsWith(block->holder, kOriginal)) continue;
    names.emplace(absl::StripSuffix(block->holder, kOriginal));
  }
  return names;
}

// Returns the masks of these weights, and their products with the parameters.
std::vector<const Life*> MasksAndProducts(const FailureMoment& moment,
                                          const std::set<std::string>& names) {
  std::vector<const Life*> lives;
  for (const Life* life : moment.live()) {
    const HeldBlock* block = moment.holders().Of(*life);
    if (block == nullptr) continue;
    const bool is_mask = absl::EndsWith(block->holder, kMask) &&
                         names.contains(std::string(absl::StripSuffix(block->holder, kMask)));
    if (is_mask || names.contains(block->holder)) lives.push_back(life);
  }
  return lives;
}

Found FindPrunedWeights(const FailureMoment& moment) {
  const std::set<std::string> names = PrunedNames(moment);
  Cause cause;
  cause.held = MasksAndProducts(moment, names);
  cause.bytes = BytesOf(cause.held);
  if (!moment.IsLarge(cause.bytes)) return std::nullopt;
  cause.change = Without(moment.detail(), cause.held);
  cause.title = "Pruned weights are stored three times: parameter, mask and product";
  cause.place = PlaceInProgram(moment, cause.held);
  cause.evidence = AdviceText(cause.bytes) + " are masks and products of " +
                   std::to_string(names.size()) + (names.size() == 1 ? " weight" : " weights") +
                   " that torch.nn.utils.prune manages.";
  cause.cost = "The masks cannot be changed afterwards.";
  cause.action =
      "Call torch.nn.utils.prune.remove(module, \"weight\") for each module once its mask is "
      "final: it makes the pruned weight the parameter, and deletes the mask and the original.";
  return cause;
}

}  // namespace

constinit const Rule kPrunedWeights = {
    .rank = Rank::kMistake,
    .meaning = "weights that torch.nn.utils.prune stores three times",
    .help =
        "torch.nn.utils.prune stores the original parameter, a mask of its size and their product. "
        "prune.remove() keeps only the product.",
    .needs = {kNeedsCensus},
    .cause = FindPrunedWeights,
    .at_peak = true,
};

}  // namespace vramstow
