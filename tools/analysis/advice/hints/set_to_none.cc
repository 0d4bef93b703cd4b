// Advice: release gradients instead of filling them with zeros.
#include <optional>
#include <vector>

#include "tools/analysis/advice/accumulation.h"
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

// Returns the gradients that are live at the moment when memory ran out or, if it did not, at the
// peak, although they were made and used before the iteration of that moment began, at `begin`.
std::vector<const Life*> KeptGradients(const Evidence& evidence, uint64_t* begin) {
  const bool failed = !evidence.facts().out_of_memory.empty();
  const uint64_t moment =
      failed ? evidence.facts().out_of_memory.back().event : evidence.detail().peak_event;
  *begin = 0;
  for (const IterationFacts& iteration : evidence.facts().iterations.list) {
    if (iteration.begin_event <= moment) *begin = iteration.begin_event;
  }
  const Accumulation accumulation(evidence.detail(), evidence.facts());
  if (accumulation.AddsUp(moment)) return {};
  const GradientsOfParameters are_gradients(evidence);
  return evidence.LiveThat([&](const Life& life) {
    return life.birth < *begin && are_gradients(life) && accumulation.IsUsed(life, *begin);
  });
}

Hint FindSetToNone(const Evidence& evidence) {
  uint64_t begin = 0;
  const uint64_t kept = BytesOf(KeptGradients(evidence, &begin));
  if (!evidence.IsWorthIt(kept)) return std::nullopt;
  return AdviceFacts{
      .title = "Gradients stay while the next forward pass runs",
      .bytes = kept,
      .evidence = AdviceText(kept) +
                  " from a backward pass are still live after the next iteration began, although "
                  "an optimizer has used them.",
      .cost = "None.",
      .action = "Call optimizer.zero_grad(set_to_none=True) right after optimizer.step()."};
}

Change SetToNoneChange(const Evidence& evidence, const AdviceFacts& /*advice*/) {
  uint64_t begin = 0;
  const std::vector<const Life*> kept = KeptGradients(evidence, &begin);
  return FreedBefore(evidence.detail(), kept, begin);
}

}  // namespace

constinit const Rule kSetToNone = {
    .rank = Rank::kUsual,
    .meaning = "release gradients instead of filling them with zeros",
    .help =
        "Gradients of an iteration are still live after the next one began, although an optimizer "
        "has used them. Call optimizer.zero_grad(set_to_none=True) right after optimizer.step(). "
        "Gradients that are accumulated for a later step do not count.",
    .needs = {kNeedsIterations, kNeedsTraining},
    .advice = FindSetToNone,
    .change = SetToNoneChange,
    .said_by = {AdviceId::kGradientsKept},
};

}  // namespace vramstow
