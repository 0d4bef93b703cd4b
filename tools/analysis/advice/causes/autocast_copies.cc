// A cause of an out-of-memory: copies of the weights that autocast keeps until its block ends.
#include <algorithm>
#include <array>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "tools/analysis/advice/advice_words.h"
#include "tools/analysis/advice/changes.h"
#include "tools/analysis/advice/places.h"
#include "tools/analysis/advice/rule.h"
#include "tools/analysis/explain/census_summary.h"

namespace vramstow {
namespace {

constexpr size_t kLeastAutocastCopies = 3;

// Returns the bytes of the 32-bit weights, by size. Their type is known from the census (a
// reference scan) only.
std::map<uint64_t, uint64_t> WeightsOf(const FailureMoment& moment) {
  std::map<uint64_t, uint64_t> weights;
  for (const Life* life : moment.live()) {
    const HeldBlock* block = moment.holders().Of(*life);
    if (!moment.holders().any() && life->tensor && moment.IsWeight(*life)) {
      weights[life->size] += life->size;
    }
    if (block == nullptr || block->role != "parameter") continue;
    if (block->about.starts_with("float32")) weights[life->size] += life->size;
  }
  return weights;
}

// True unless the program itself requested the conversion, which then has a name of its own.
// Autocast converts the operands of an operator, for example the weight of a linear layer.
bool IsImplicit(const SiteDetail& site) {
  static constexpr std::array<std::string_view, 10> kConversions = {
      "to", "half", "bfloat16", "type", "to_type", "float", "copy", "clone", "_to_copy", "type_as"};
  return std::ranges::find(kConversions, site.operation) == kConversions.end();
}

// Finds copies that autocast holds in C++, where no Python object refers to them. Each is half as
// large as a weight.
// Without a census of the owners, blocks count if an operator other than a conversion made them.
Found FindAutocastCopies(const FailureMoment& moment) {
  const std::map<uint64_t, uint64_t> weights = WeightsOf(moment);
  std::map<uint64_t, uint64_t> copied;  // by the weight's size
  Cause cause;
  for (const Life* life : moment.live()) {
    const SiteDetail& site = moment.site_of(*life);
    if (!life->tensor || OperatorName(site) != "_to_copy" || site.phase == Phase::kInit) continue;
    if (moment.holders().Of(*life) != nullptr || !weights.contains(life->size * 2)) continue;
    if (!moment.holders().any() && (!IsImplicit(site) || moment.IsWeight(*life))) continue;
    cause.held.push_back(life);
    copied[life->size * 2] += life->size;
  }
  if (cause.held.size() < kLeastAutocastCopies) return std::nullopt;
  const std::string places = LargestPlaces(moment.detail(), cause.held);
  cause.place = PlaceInProgram(moment, cause.held);
  const uint64_t copies = BytesOf(cause.held);
  // The last copy is needed, because the next operation reads it.
  const uint64_t last = cause.held.back()->size;
  cause.held.pop_back();
  uint64_t all = 0;
  for (const auto& [size, bytes] : copied) all += std::max(bytes, weights.at(size) / 2);
  cause.bytes = all - last;
  if (!moment.IsLarge(BytesOf(cause.held))) return std::nullopt;
  cause.change = Without(moment.detail(), cause.held);
  cause.change.spared_later = all - std::min(all, copies);
  cause.proof.grows = true;
  cause.title = "autocast retains a 16-bit copy of each weight until its block ends";
  cause.evidence = AdviceText(copies) +
                   " are copies of weights that autocast made and retains: " + places +
                   ". All weights of these sizes would take " + AdviceText(all) + ".";
  cause.cost = "Without the copies each weight is converted at each use.";
  cause.action =
      "Convert the model itself (model.bfloat16()) if it is not trained. Otherwise use "
      "torch.autocast(..., cache_enabled=False), or a separate autocast block for each model or "
      "batch.";
  return cause;
}

bool HasConversion(const FailureMoment& moment) {
  return std::ranges::any_of(moment.live(), [&](const Life* life) {
    return OperatorName(moment.site_of(*life)) == "_to_copy";
  });
}

constexpr Precondition kNeedsConversion = {
    .words = "an operator that converts numbers allocated some of the live memory",
    .in_failure = HasConversion};

}  // namespace

constinit const Rule kAutocastCopies = {
    .rank = Rank::kMistake,
    .meaning = "autocast retains copies of the weights until its block ends",
    .help =
        "torch.autocast converts each weight once and retains the copy until its block ends. Such "
        "copies are blocks of half the size of a weight that a conversion allocated and that no "
        "Python object references. Convert the model itself, or pass cache_enabled=False.",
    .needs = {kNeedsConversion},
    .cause = FindAutocastCopies,
    .at_peak = true,
};

}  // namespace vramstow
