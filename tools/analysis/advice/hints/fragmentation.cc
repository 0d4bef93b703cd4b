// Advice about free memory at the peak that lies in pieces smaller than the largest request.
#include <algorithm>

#include "tools/analysis/advice/advice_words.h"
#include "tools/analysis/advice/other_allocator.h"
#include "tools/analysis/advice/rule.h"

namespace vramstow {
namespace {

Hint FindFragmentation(const Evidence& evidence) {
  const Facts& facts = evidence.facts();
  const Peak& peak = facts.peak;
  if (!facts.cache.known || peak.reserved_bytes < peak.allocated_bytes) return std::nullopt;
  const uint64_t free =
      peak.reserved_then_bytes - std::min(peak.reserved_then_bytes, peak.allocated_bytes);
  const uint64_t unusable = std::min(free, facts.fragmentation.at_peak.unusable_bytes);
  if (!evidence.IsWorthIt(unusable)) return std::nullopt;
  return AdviceFacts{.title = "Free memory is in pieces that are too small",
                     .bytes = unusable,
                     .evidence = "At the peak " + AdviceText(free) +
                                 " of the reserved memory were free, " + AdviceText(unusable) +
                                 " of them in pieces smaller than the largest request (" +
                                 AdviceText(facts.fragmentation.largest_request_bytes) + ").",
                     .cost = CostOfOtherAllocator(evidence),
                     .action = OtherAllocator(evidence)};
}

}  // namespace

constinit const Rule kFragmentation = {
    .rank = Rank::kUsual,
    .meaning = "free memory at the peak, in pieces smaller than the largest request",
    .help =
        "At the peak a part of the reserved memory was free in pieces smaller than the largest "
        "request, so that it was useless for it. Expandable segments, or vramstow's pool, combine "
        "such pieces.",
    .needs = {kNeedsCache},
    .advice = FindFragmentation,
    .change = UseOtherAllocator,
    .said_by = {AdviceId::kGraphPools, AdviceId::kMemPool, AdviceId::kLibraryShortage},
};

}  // namespace vramstow
