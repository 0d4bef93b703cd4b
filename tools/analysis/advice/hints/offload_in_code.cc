// Advice if memory was moved to the host because the GPU was full, or a limit was reached.
#include <algorithm>
#include <string>

#include "tools/analysis/advice/advice_words.h"
#include "tools/analysis/advice/rule.h"
#include "tools/analysis/advice/step_cost.h"
#include "tools/base/link.h"

namespace vramstow {
namespace {

constexpr size_t kMaxNamed = 3;

std::string CostOfMovesInCode(const Evidence& evidence) {
  const OffloadFacts& offload = evidence.facts().offload;
  const ModelClockFacts& clock = evidence.facts().model_clock;
  const StepCost cost(evidence.detail(), evidence.facts());
  if (cost.is_known() && offload.step_cost_seconds.has_value()) {
    const uint64_t bytes = std::max(clock.out_bytes, clock.in_bytes);
    return "About " + AdviceTime(cost.OfRoundTrip(bytes)) +
           " of copies in an iteration, but overlapping with the work, while offload costs about " +
           AdviceTime(*offload.step_cost_seconds) + " of its time now" + OfModelInWords(cost);
  }
  const uint64_t all_ns = LinkNs(offload.out_bytes + offload.returned_bytes);
  return "The same transfers, about " + std::to_string(all_ns / 1'000'000) +
         " ms in all at 24 GiB/s, but overlapping with the work instead of before it.";
}

std::string ReasonForMoves(const OffloadFacts& offload) {
  if (offload.limit() == 0) return "the GPU was full";
  return "the limit of " + AdviceText(offload.limit()) + " was reached";
}

std::string AboutLimit(const OffloadFacts& offload) {
  if (offload.limit() == 0) return "";
  return "Raise the limit, or leave it out" +
         (offload.limit_place.empty() ? "" : " (" + offload.limit_place + ")") +
         ", if no other process needs that part of the GPU's memory. ";
}

// A block that was evicted for lack of room is restored only when it is used. Code of the program
// knows the time of the next use, so it can restore the block in advance.
Hint FindOffloadInCode(const Evidence& evidence) {
  const OffloadFacts& offload = evidence.facts().offload;
  const uint64_t pressed = offload.by_reason[static_cast<size_t>(OffloadReason::kPressure)];
  if (!evidence.IsWorthIt(pressed)) return std::nullopt;
  std::string sites;
  for (size_t i = 0; i < std::min(offload.sites.size(), kMaxNamed); ++i) {
    sites += (sites.empty() ? "" : ", ") + offload.sites[i].site + " (" +
             AdviceText(offload.sites[i].bytes) + ")";
  }
  const std::string reason = ReasonForMoves(offload);
  return AdviceFacts{
      .title = "Memory was moved to the host because " + reason,
      .bytes = offload.most_bytes,
      .evidence = AdviceText(pressed) + " were moved to the host because " + reason + ", " +
                  AdviceText(offload.returned_bytes) +
                  " were moved back, and work waited meanwhile" +
                  (sites.empty() ? "." : "; most of it of " + sites + "."),
      .cost = CostOfMovesInCode(evidence),
      .action = AboutLimit(offload) +
                "Move these blocks in code, where it is known when they are needed: use "
                "torch.autograd.graph.save_on_cpu() for activations, or keep the "
                "optimizer's state or frozen weights on the host; or recompute them."};
}

bool HasOffloaded(const Evidence& evidence) {
  const OffloadFacts& offload = evidence.facts().offload;
  return offload.by_reason[static_cast<size_t>(OffloadReason::kPressure)] > 0;
}

constexpr Precondition kNeedsOffload = {
    .words = "vramstow moved memory to the host because the GPU was full or a limit was reached",
    .in_job = HasOffloaded};

}  // namespace

constinit const Rule kOffloadInCode = {
    .rank = Rank::kUsual,
    .meaning = "memory was moved to the host because the GPU was full or a limit was reached",
    .help =
        "With --offload, memory was moved to the host because the GPU was full or a limit was "
        "reached, and work waited for it. Code that knows when memory is needed can move it while "
        "work is running.",
    .needs = {kNeedsOffload},
    .advice = FindOffloadInCode,
};

}  // namespace vramstow
