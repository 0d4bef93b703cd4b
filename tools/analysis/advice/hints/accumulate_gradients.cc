// Advice: use so many micro-batches that activations are no larger than all other memory.
#include <algorithm>
#include <string>

#include "tools/analysis/advice/advice_words.h"
#include "tools/analysis/advice/changes.h"
#include "tools/analysis/advice/rule.h"
#include "tools/analysis/advice/step_cost.h"

namespace vramstow {
namespace {

constexpr uint64_t kMaxBatches = 16;

std::string CostOfParts(const Evidence& evidence, uint64_t parts) {
  const StepCost cost(evidence.detail(), evidence.facts());
  if (cost.is_known()) {
    const double seconds = cost.OfMicroBatches(parts, evidence.AtPeak("parameters"));
    return "About " + AdviceTime(seconds) + " for more kernels and for sums of gradients" +
           OfModelInWords(cost);
  }
  return "A little time: kernels are smaller, and " + std::to_string(parts) + " times as many.";
}

// Recommends the number of micro-batches at which the activations become smaller than all other
// memory. More micro-batches would help little, because the other memory then decides the peak.
Hint FindAccumulateGradients(const Evidence& evidence) {
  if (!MayTrain(evidence.detail())) return std::nullopt;
  const uint64_t activations = evidence.AtPeak("activations");
  const uint64_t peak = evidence.facts().peak.allocated_bytes;
  const uint64_t rest = peak - std::min(peak, activations);
  uint64_t batches = 2;
  while (batches < kMaxBatches && activations / batches > rest) batches *= 2;
  const uint64_t saved = activations - activations / batches;
  if (!evidence.IsWorthIt(saved)) return std::nullopt;
  const std::string number = std::to_string(batches);
  return AdviceFacts{.title = "Process the same batch in " + number + " micro-batches",
                     .bytes = saved,
                     .evidence = AdviceText(activations) +
                                 " of activations at the peak grow with the batch, " +
                                 AdviceText(rest) + " do not: with " + number + " micro-batches " +
                                 AdviceText(activations / batches) + " of activations are left.",
                     .cost = CostOfParts(evidence, batches),
                     .action = "Divide the batch by " + number + ", divide the loss by " + number +
                               ", and step the optimizer after every " + number + "."};
}

// The bytes that the advice saves at the peak give the number of micro-batches.
Change AccumulateGradientsChange(const Evidence& evidence, const AdviceFacts& advice) {
  const uint64_t all = evidence.AtPeak("activations");
  const uint64_t left = all - std::min(all, advice.bytes);
  if (left == 0) return {};
  return InParts(evidence.detail(), evidence.LiveOf("activations"), all / left);
}

bool MayHaveTrained(const Evidence& evidence) { return MayTrain(evidence.detail()); }

constexpr Precondition kNeedsMayTrain = {
    .words = "a backward pass or an optimizer has run (or the trace has no call stacks)",
    .in_job = MayHaveTrained};

}  // namespace

constinit const Rule kAccumulateGradients = {
    .rank = Rank::kUsual,
    .meaning = "use micro-batches until activations are no more than the rest of the peak",
    .help =
        "Activations grow with the batch, and the rest of the peak does not. With several "
        "micro-batches for each step of the optimizer, only the activations of one are live at a "
        "time.",
    .needs = {kNeedsMayTrain},
    .advice = FindAccumulateGradients,
    .change = AccumulateGradientsChange,
    .said_by = {AdviceId::kActivations, AdviceId::kHeldGraphs, AdviceId::kNeedlessGraph},
};

}  // namespace vramstow
