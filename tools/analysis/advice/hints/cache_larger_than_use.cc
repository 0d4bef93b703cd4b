// Advice if more memory was reserved than was ever allocated.
#include <algorithm>

#include "tools/analysis/advice/advice_words.h"
#include "tools/analysis/advice/other_allocator.h"
#include "tools/analysis/advice/rule.h"

namespace vramstow {
namespace {

Hint FindCacheLargerThanUse(const Evidence& evidence) {
  const Facts& facts = evidence.facts();
  const Peak& peak = facts.peak;
  if (!facts.cache.known || peak.reserved_bytes <= peak.allocated_bytes) return std::nullopt;
  const uint64_t cached = peak.reserved_bytes - peak.allocated_bytes;
  const uint64_t beyond = cached - std::min(cached, facts.fragmentation.at_peak.unusable_bytes);
  if (!evidence.IsWorthIt(beyond)) return std::nullopt;
  return AdviceFacts{
      .title = "The cache holds more than the job ever used in this recording",
      .bytes = beyond,
      .evidence = AdviceText(peak.reserved_bytes) + " were reserved, and never more than " +
                  AdviceText(peak.allocated_bytes) + " of it allocated during the recording.",
      .cost = "A few cudaMalloc calls if the memory is needed again (milliseconds each).",
      .action = evidence.IsOurPool()
                    ? "Call torch.cuda.empty_cache() once after the phase that needed it, or "
                      "`vramstow ctl PID empty-cache` from outside."
                    : "Call torch.cuda.empty_cache() once after the phase that needed it, or set "
                      "garbage_collection_threshold:0.8 in PYTORCH_CUDA_ALLOC_CONF."};
}

}  // namespace

constinit const Rule kCacheLargerThanUse = {
    .rank = Rank::kUsual,
    .meaning = "more was reserved than was ever allocated",
    .help =
        "The allocator held more memory than the job ever had allocated during the recording. "
        "Return it once, after the phase that needed it.",
    .needs = {kNeedsCache},
    .advice = FindCacheLargerThanUse,
    .change = GiveBackCache,
    .said_by = {AdviceId::kGraphPools, AdviceId::kMemPool, AdviceId::kLibraryShortage},
};

}  // namespace vramstow
