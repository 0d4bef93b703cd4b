// Advice: empty_cache() gives back what is taken from the device again.
#include <string>
#include <vector>

#include "tools/analysis/advice/advice_words.h"
#include "tools/analysis/advice/rule.h"

namespace vramstow {
namespace {

Hint FindStopEmptyCache(const Evidence& evidence) {
  uint64_t again = 0;
  uint64_t given = 0;
  uint64_t calls = 0;
  for (const FlushFacts& flush : evidence.facts().cache.flushes) {
    if (flush.by != "empty_cache") continue;
    ++calls;
    given += flush.bytes;
    again += flush.taken_again_bytes;
  }
  if (calls < 2 || again * 2 < given) return std::nullopt;
  std::vector<std::string> where;
  for (const SiteDetail& site : evidence.detail().sites) {
    if (site.empties_cache) where.push_back(site.site);
  }
  const std::string here = where.empty() ? "in the loop" : "at " + FirstNames(where);
  return AdviceFacts{.title = "empty_cache() gives back what is taken again",
                     .evidence = std::to_string(calls) + " calls gave back " + AdviceText(given) +
                                 ", of which " + AdviceText(again) +
                                 " were taken from the device again.",
                     .cost = "None.",
                     .action = "Leave the calls of torch.cuda.empty_cache() " + here + " out.",
                     .place = where.empty() ? "" : where.front()};
}

bool HasEmptiedCache(const Evidence& evidence) {
  return std::ranges::count(evidence.facts().cache.flushes, "empty_cache", &FlushFacts::by) > 1;
}

constexpr Precondition kNeedsEmptyCache = {
    .words = "the program called empty_cache() twice or more", .in_job = HasEmptiedCache};

}  // namespace

constinit const Rule kStopEmptyCache = {
    .rank = Rank::kUrgent,
    .meaning = "`empty_cache()` gives back what is taken from the device again",
    .help =
        "The program called torch.cuda.empty_cache() at least twice, and half of what that gave "
        "back was taken from the device again. Each such round costs milliseconds and waits for "
        "all work. Leave the calls out.",
    .needs = {kNeedsEmptyCache},
    .advice = FindStopEmptyCache,
    .saves = false,
    .is_fault = true,
};

}  // namespace vramstow
