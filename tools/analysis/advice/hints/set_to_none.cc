// Advice: release gradients instead of filling them with zeros.
#include <algorithm>

#include "tools/analysis/advice/advice_words.h"
#include "tools/analysis/advice/changes.h"
#include "tools/analysis/advice/rule.h"

namespace vramstow {
namespace {

Hint FindSetToNone(const Evidence& evidence) {
  const Facts& facts = evidence.facts();
  const uint64_t gradients = evidence.AtPeak("gradients");
  if (!evidence.IsWorthIt(gradients) || facts.iterations.list.empty()) return std::nullopt;
  // Gradients that are there when an iteration begins were not set to None.
  uint64_t kept = 0;
  const IterationFacts& last = facts.iterations.list.back();
  for (const Life& life : evidence.detail().lives) {
    if (life.pending || evidence.PhaseOf(life) != Phase::kBackward) continue;
    if (life.birth < last.begin_event && life.death > last.begin_event) kept += life.size;
  }
  kept = std::min(kept, gradients);
  if (!evidence.IsWorthIt(kept)) return std::nullopt;
  return AdviceFacts{
      .title = "Gradients stay while the next forward pass runs",
      .bytes = kept,
      .evidence = AdviceText(kept) +
                  " from a backward pass are still there when the next iteration begins.",
      .cost = "None.",
      .action = "Call optimizer.zero_grad(set_to_none=True) before the forward pass."};
}

Change SetToNoneChange(const Evidence& evidence, const AdviceFacts& /*advice*/) {
  if (evidence.facts().iterations.list.empty()) return {};
  const uint64_t begin = evidence.facts().iterations.list.back().begin_event;
  const auto is_old = [&](const Life& life) {
    return evidence.PhaseOf(life) == Phase::kBackward && life.birth < begin;
  };
  return FreedBefore(evidence.detail(), evidence.LiveThat(is_old), begin);
}

}  // namespace

constinit const Rule kSetToNone = {
    .rank = Rank::kUsual,
    .meaning = "release gradients instead of filling them with zeros",
    .help =
        "Gradients of an iteration are still there when the next one begins. Call "
        "optimizer.zero_grad(set_to_none=True) before the forward pass.",
    .advice = FindSetToNone,
    .change = SetToNoneChange,
    .said_by = {AdviceId::kGradientsKept},
};

}  // namespace vramstow
