// Advice if the state of the optimizer is a large part of the peak.
#include <string>

#include "tools/analysis/advice/advice_words.h"
#include "tools/analysis/advice/changes.h"
#include "tools/analysis/advice/rule.h"
#include "tools/analysis/advice/step_cost.h"

namespace vramstow {
namespace {

std::string CostOfLessState(const Evidence& evidence, uint64_t state) {
  const StepCost cost(evidence.detail(), evidence.facts());
  if (cost.is_known()) {
    return "8-bit state has no known cost. State on the host costs about " +
           AdviceTime(cost.OfRoundTrip(state)) +
           " of copies for each step, if work waits for them" + OfModelInWords(cost);
  }
  return "8-bit state has no known cost; state on the host costs a transfer for each step.";
}

Hint FindSmallerOptimizerState(const Evidence& evidence) {
  const uint64_t state = evidence.AtPeak("optimizer_state");
  if (!evidence.IsWorthIt(state)) return std::nullopt;
  return AdviceFacts{
      .title = "The optimizer's state is a large part of the peak",
      .bytes = state,
      .evidence = AdviceText(state) + " of the peak (" +
                  AdvicePercent(state, evidence.facts().peak.allocated_bytes) +
                  ") were allocated by the optimizer and stay.",
      .cost = CostOfLessState(evidence, state),
      .action =
          "Use an optimizer with 8-bit state, shard the state over the ranks if it is "
          "not sharded yet, or keep it on the host."};
}

Change SmallerOptimizerStateChange(const Evidence& evidence, const AdviceFacts& /*advice*/) {
  return Without(evidence.detail(), evidence.LiveOf("optimizer_state"));
}

}  // namespace

constinit const Rule kSmallerOptimizerState = {
    .rank = Rank::kUsual,
    .meaning = "the optimizer's state is a large part of the peak",
    .help =
        "The optimizer's state is a large part of the peak. Use 8-bit state, shard it over the "
        "ranks, or keep it on the host.",
    .needs = {kNeedsTraining},
    .advice = FindSmallerOptimizerState,
    .change = SmallerOptimizerStateChange,
    .said_by = {AdviceId::kOptimizerState},
};

}  // namespace vramstow
