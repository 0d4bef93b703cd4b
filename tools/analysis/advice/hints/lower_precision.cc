// Advice to halve the activations, for jobs whose call stacks show no lower precision. A trace does
// not contain the type of numbers.
#include <algorithm>
#include <string>

#include "tools/analysis/advice/advice_words.h"
#include "tools/analysis/advice/changes.h"
#include "tools/analysis/advice/precision_use.h"
#include "tools/analysis/advice/rule.h"

namespace vramstow {
namespace {

// A trace does not contain the type of numbers, but it shows that no operator converts them to a
// lower precision.
Hint FindLowerPrecision(const Evidence& evidence) {
  const uint64_t activations = evidence.AtPeak("activations");
  if (!evidence.IsWorthIt(activations / 2) || UsesLowerPrecision(evidence.detail())) {
    return std::nullopt;
  }
  return AdviceFacts{
      .title = "Compute in 16 bits, so that less is stored for the backward pass",
      .bytes = activations / 2,
      .evidence = AdviceText(activations) +
                  " of activations are live at the peak, and neither call stacks nor operators "
                  "show autocast or a conversion to half or bfloat16: if they have 32 bits, half "
                  "of the memory would be enough.",
      .cost =
          "Rounding: losses may differ in the third digit; float16 needs a gradient scaler, "
          "bfloat16 does not.",
      .action =
          "Put the forward pass and the loss under torch.autocast(\"cuda\", "
          "dtype=torch.bfloat16)."};
}

Change LowerPrecisionChange(const Evidence& evidence, const AdviceFacts& /*advice*/) {
  return InParts(evidence.detail(), evidence.LiveOf("activations"), 2);
}

}  // namespace

constinit const Rule kLowerPrecision = {
    .rank = Rank::kUsual,
    .meaning =
        "compute in 16 bits, if no call stack shows that the job does so; a trace does not contain "
        "the types of numbers",
    .help =
        "Activations are live at the peak, and neither call stacks nor operators show autocast or "
        "a conversion to 16 bits. If they have 32 bits, half of the memory would be enough: "
        "torch.autocast(\"cuda\", dtype=torch.bfloat16).",
    .needs = {kNeedsTraining},
    .advice = FindLowerPrecision,
    .change = LowerPrecisionChange,
    .said_by = {AdviceId::kHeldGraphs, AdviceId::kNeedlessGraph},
};

}  // namespace vramstow
