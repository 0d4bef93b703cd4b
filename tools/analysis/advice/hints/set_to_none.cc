// Advice: release gradients instead of filling them with zeros.
#include <algorithm>
#include <optional>
#include <vector>

#include "tools/analysis/advice/advice_words.h"
#include "tools/analysis/advice/changes.h"
#include "tools/analysis/advice/rule.h"
#include "tools/analysis/explain/census_summary.h"
#include "tools/analysis/explain/holders.h"

namespace vramstow {
namespace {

// Selects gradients that a backward pass made and that only a parameter references, according to a
// census (a reference scan). A list of gradients would keep them live whatever an optimizer does.
class GradientsOfParameters {
 public:
  explicit GradientsOfParameters(const Evidence& evidence) : evidence_(evidence) {
    const std::vector<OutOfMemoryFacts>& failures = evidence.facts().out_of_memory;
    if (!failures.empty()) holders_.emplace(evidence.detail(), evidence.facts(), failures.back());
  }
  bool operator()(const Life& life) const {
    if (evidence_.PhaseOf(life) != Phase::kBackward) return false;
    const HeldBlock* block = holders_.has_value() ? holders_->Of(life) : nullptr;
    return block == nullptr || (block->role == "gradient" && !IsGarbage(*block));
  }

 private:
  const Evidence& evidence_;
  std::optional<Holders> holders_;
};

Hint FindSetToNone(const Evidence& evidence) {
  const Facts& facts = evidence.facts();
  const uint64_t gradients = evidence.AtPeak("gradients");
  if (!evidence.IsWorthIt(gradients) || facts.iterations.list.empty()) return std::nullopt;
  // A gradient that is live when an iteration begins was not released (set to None) before that
  // iteration.
  uint64_t kept = 0;
  const GradientsOfParameters are_gradients(evidence);
  const IterationFacts& last = facts.iterations.list.back();
  for (const Life& life : evidence.detail().lives) {
    if (life.pending || !are_gradients(life)) continue;
    if (life.birth < last.begin_event && life.death > last.begin_event) kept += life.size;
  }
  kept = std::min(kept, gradients);
  if (!evidence.IsWorthIt(kept)) return std::nullopt;
  return AdviceFacts{
      .title = "Gradients stay while the next forward pass runs",
      .bytes = kept,
      .evidence =
          AdviceText(kept) + " from a backward pass are still live when the next iteration begins.",
      .cost = "None.",
      .action = "Call optimizer.zero_grad(set_to_none=True) before the forward pass."};
}

Change SetToNoneChange(const Evidence& evidence, const AdviceFacts& /*advice*/) {
  if (evidence.facts().iterations.list.empty()) return {};
  // Uses a moment within the iteration in which memory ran out. If it did not run out, uses the
  // iteration with the highest memory.
  const uint64_t moment = evidence.facts().out_of_memory.empty()
                              ? evidence.detail().peak_event
                              : evidence.facts().out_of_memory.back().event;
  uint64_t begin = 0;
  for (const IterationFacts& iteration : evidence.facts().iterations.list) {
    if (iteration.begin_event <= moment) begin = iteration.begin_event;
  }
  const GradientsOfParameters are_gradients(evidence);
  const auto is_old = [&](const Life& life) { return are_gradients(life) && life.birth < begin; };
  return FreedBefore(evidence.detail(), evidence.LiveThat(is_old), begin);
}

}  // namespace

constinit const Rule kSetToNone = {
    .rank = Rank::kUsual,
    .meaning = "release gradients instead of filling them with zeros",
    .help =
        "Gradients of an iteration are still live when the next one begins. Call "
        "optimizer.zero_grad(set_to_none=True) before the forward pass.",
    .needs = {kNeedsIterations, kNeedsTraining},
    .advice = FindSetToNone,
    .change = SetToNoneChange,
    .said_by = {AdviceId::kGradientsKept},
};

}  // namespace vramstow
