// Advice if blocks are larger than the requested sizes.
#include <algorithm>

#include "tools/analysis/advice/advice_words.h"
#include "tools/analysis/advice/rule.h"

namespace vramstow {
namespace {

Hint FindRounding(const Evidence& evidence) {
  const Peak& peak = evidence.facts().peak;
  const uint64_t waste =
      peak.allocated_bytes - std::min(peak.allocated_bytes, peak.requested_then_bytes);
  if (!evidence.IsWorthIt(waste)) return std::nullopt;
  return AdviceFacts{
      .title = "Blocks are larger than the requests",
      .bytes = waste,
      .evidence = "At the peak blocks were " + AdviceText(waste) +
                  " larger than the requests that they serve.",
      .cost = "More different sizes, hence fewer that can be reused.",
      .action = "Lower roundup_power2_divisions in PYTORCH_CUDA_ALLOC_CONF, or leave it out."};
}

bool HasRequestedBytes(const Evidence& evidence) {
  return evidence.facts().peak.requested_then_bytes > 0;
}

constexpr Precondition kNeedsRequestedBytes = {
    .words = "the trace contains the requested size in addition to the allocated size",
    .in_job = HasRequestedBytes};

}  // namespace

constinit const Rule kRounding = {
    .rank = Rank::kUsual,
    .meaning = "blocks are larger than the requests",
    .help =
        "At the peak, blocks were larger than the requests that they served. Lower "
        "roundup_power2_divisions in PYTORCH_CUDA_ALLOC_CONF, or leave it out.",
    .needs = {kNeedsRequestedBytes},
    .advice = FindRounding,
};

}  // namespace vramstow
