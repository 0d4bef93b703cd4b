// Advice about blocks at the peak that a step made and freed soon after.
#include "tools/analysis/advice/advice_words.h"
#include "tools/analysis/advice/changes.h"
#include "tools/analysis/advice/rule.h"
#include "tools/analysis/explain/phases_over.h"

namespace vramstow {
namespace {

Hint FindTemporariesAtPeak(const Evidence& evidence) {
  uint64_t bytes = 0;
  const PhasesOver phases(evidence.detail());
  for (const Life& life : evidence.detail().lives) {
    if (!evidence.IsAtPeak(life) || life.death == kStillLive) continue;
    if (evidence.PhaseOf(life) != Phase::kOptimizer) continue;
    if (!phases.Outlives(life, Phase::kOptimizer)) bytes += life.size;
  }
  if (!evidence.IsWorthIt(bytes)) return std::nullopt;
  return AdviceFacts{
      .title = "The optimizer's step allocates large temporaries",
      .bytes = bytes,
      .evidence = AdviceText(bytes) +
                  " at the peak were allocated in the optimizer's step and freed soon after.",
      .cost = "A slower step.",
      .action =
          "Pass foreach=False to the optimizer, or fused=True, or step in the backward pass "
          "(register_post_accumulate_grad_hook)."};
}

Change TemporariesAtPeakChange(const Evidence& evidence, const AdviceFacts& /*advice*/) {
  const PhasesOver phases(evidence.detail());
  const auto is_one = [&](const Life& life) {
    return evidence.PhaseOf(life) == Phase::kOptimizer && life.death != kStillLive &&
           !phases.Outlives(life, Phase::kOptimizer);
  };
  return Without(evidence.detail(), evidence.LiveThat(is_one));
}

}  // namespace

constinit const Rule kTemporariesAtPeak = {
    .rank = Rank::kUsual,
    .meaning = "blocks at the peak that a step allocated and freed soon after",
    .help =
        "At the peak, blocks were live that the optimizer's step allocated and freed soon after. "
        "Pass foreach=False to the optimizer, or fused=True, or step in the backward pass.",
    .needs = {kNeedsTraining},
    .advice = FindTemporariesAtPeak,
    .change = TemporariesAtPeakChange,
};

}  // namespace vramstow
