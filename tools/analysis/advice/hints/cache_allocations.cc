// Advice if memory is requested from the driver again right after it was released.
#include "tools/analysis/advice/advice_words.h"
#include "tools/analysis/advice/rule.h"

namespace vramstow {
namespace {

constexpr uint64_t kLeastPairs = 1000;

Hint FindCacheAllocations(const Evidence& evidence) {
  const Facts& facts = evidence.facts();
  if (facts.kind != "stow" || facts.cache.known || facts.churn.pairs < kLeastPairs) {
    return std::nullopt;
  }
  if (facts.churn.pairs * 2 < facts.counts.allocations) return std::nullopt;
  return AdviceFacts{
      .title = "Freed memory is requested from the driver again",
      .evidence = std::to_string(facts.churn.pairs) +
                  " allocations requested from the driver a size that had been returned before (" +
                  AdviceText(facts.churn.pair_bytes) + " in all).",
      .cost = "Memory that stays reserved.",
      .action =
          "Allocate through a pool (cudaMallocAsync, RMM, PyTorch's allocator, vramstow's "
          "pool)."};
}

bool HasNoCache(const Evidence& evidence) {
  return evidence.facts().kind == "stow" && !evidence.facts().cache.known;
}

constexpr Precondition kNeedsNoCache = {.words = "the process used no allocator with a cache",
                                        .in_job = HasNoCache};

}  // namespace

constinit const Rule kCacheAllocations = {
    .rank = Rank::kUsual,
    .meaning = "memory that was just returned is requested from the driver again",
    .help =
        "Without a caching allocator, at least a thousand allocations requested from the driver a "
        "size that had been returned just before. Allocate through a pool.",
    .needs = {kNeedsNoCache},
    .advice = FindCacheAllocations,
    .saves = false,
    .is_fault = true,
};

}  // namespace vramstow
