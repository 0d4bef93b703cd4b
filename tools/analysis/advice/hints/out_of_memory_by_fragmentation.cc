// Advice: an out-of-memory while enough was free, in pieces that were too small.
#include <algorithm>

#include "tools/analysis/advice/advice_words.h"
#include "tools/analysis/advice/other_allocator.h"
#include "tools/analysis/advice/rule.h"

namespace vramstow {
namespace {

Hint FindOutOfMemoryByFragmentation(const Evidence& evidence) {
  for (const OutOfMemoryFacts& failure : evidence.facts().out_of_memory) {
    if (!failure.has_pool || failure.pool_free_bytes < failure.requested_bytes) continue;
    const uint64_t usable = std::max(failure.largest_free_range_bytes.value_or(0),
                                     failure.pool_movable_bytes.value_or(0));
    if (usable >= failure.requested_bytes) continue;
    return AdviceFacts{
        .title = "This out-of-memory was fragmentation",
        .bytes = failure.requested_bytes,
        .evidence = AdviceText(failure.requested_bytes) + " were asked for while the pool had " +
                    AdviceText(failure.pool_free_bytes) + " free in " +
                    std::to_string(failure.pool_free_ranges) + " pieces, the largest " +
                    AdviceText(*failure.largest_free_range_bytes) + ".",
        .cost = CostOfOtherAllocator(evidence),
        .action = OtherAllocator(evidence)};
  }
  return std::nullopt;
}

}  // namespace

constinit const Rule kOutOfMemoryByFragmentation = {
    .rank = Rank::kUrgent,
    .meaning = "an out-of-memory while enough was free, in pieces that were too small",
    .help =
        "When the request failed, the pool had enough free memory, but no piece of it was large "
        "enough, and no free chunks could be moved together. Expandable segments, or vramstow's "
        "pool, put pieces together.",
    .advice = FindOutOfMemoryByFragmentation,
    .change = UseOtherAllocator,
};

}  // namespace vramstow
