// Advice: recompute activations in the backward pass.
#include <string>

#include "tools/analysis/advice/advice_words.h"
#include "tools/analysis/advice/layers.h"
#include "tools/analysis/advice/rule.h"
#include "tools/analysis/advice/step_cost.h"

namespace vramstow {
namespace {

Hint FindCheckpointActivations(const Evidence& evidence) {
  const uint64_t activations = evidence.AtPeak("activations");
  if (!evidence.IsWorthIt(activations)) return std::nullopt;
  const std::string sites = SitesOfPhase(evidence.detail(), Phase::kForward);
  return AdviceFacts{.title = "Recompute activations instead of storing them",
                     .bytes = activations,
                     .evidence = AdviceText(activations) + " of the peak (" +
                                 AdvicePercent(activations, evidence.facts().peak.allocated_bytes) +
                                 ") wait for the backward pass" +
                                 (sites.empty() ? "." : ": most at " + sites + "."),
                     .cost = RecomputationInWords(
                         evidence.detail(), evidence.facts(), evidence.LiveOf("activations"),
                         "About a third more time in the forward and backward pass."),
                     .action =
                         "Put torch.utils.checkpoint around the repeated layer, or use the "
                         "framework's switch (gradient_checkpointing_enable())."};
}

Change CheckpointActivationsChange(const Evidence& evidence, const AdviceFacts& /*advice*/) {
  return WithCheckpoints(evidence.detail(), evidence.LiveOf("activations"));
}

}  // namespace

constinit const Rule kCheckpointActivations = {
    .rank = Rank::kUsual,
    .meaning = "recompute activations in the backward pass",
    .help =
        "Activations at the peak wait for the backward pass. torch.utils.checkpoint recomputes "
        "them when they are needed, for about a third more time.",
    .needs = {kNeedsTraining},
    .advice = FindCheckpointActivations,
    .change = CheckpointActivationsChange,
    .said_by = {AdviceId::kActivations, AdviceId::kHeldGraphs, AdviceId::kNeedlessGraph},
};

}  // namespace vramstow
