// Advice if the live memory grows from iteration to iteration.
#include <algorithm>
#include <iterator>
#include <set>
#include <string>
#include <vector>

#include "tools/analysis/advice/advice_words.h"
#include "tools/analysis/advice/changes.h"
#include "tools/analysis/advice/growth_words.h"
#include "tools/analysis/advice/rule.h"

namespace vramstow {
namespace {

std::string ByTheHour(const Facts& facts) {
  if (!facts.by_hour.is_endless) return "";
  return " Memory grows by " + AdviceText(static_cast<uint64_t>(facts.by_hour.bytes_per_hour)) +
         " an hour." + WhenFull(facts);
}

Hint FindGrowingMemory(const Evidence& evidence) {
  const uint64_t bytes = GrownByIterations(evidence);
  if (bytes == 0) return std::nullopt;
  const GrowthFacts& first = evidence.facts().lifetimes.growing.front();
  const size_t all = evidence.facts().iterations.list.size();
  std::string where = " behind in each of " + std::to_string(first.iterations) + " iterations.";
  if (first.iterations * 2 < all) {
    where = " behind in " + std::to_string(first.iterations) + " of " + std::to_string(all) +
            " iterations, over the whole run.";
  }
  return AdviceFacts{.title = "Memory grows from iteration to iteration",
                     .bytes = bytes,
                     .evidence = first.site + " left " + AdviceText(first.bytes_per_iteration) +
                                 where + ByTheHour(evidence.facts()),
                     .cost = "None.",
                     .action =
                         "Find out what references it: a list of losses (use .item() or "
                         ".detach()), a cache that is never emptied, a hook."};
}

// Returns the change in which the blocks that an iteration leaves behind are freed when the
// iteration ends.
Change GrowingMemoryChange(const Evidence& evidence, const AdviceFacts& /*advice*/) {
  const std::vector<IterationFacts>& iterations = evidence.facts().iterations.list;
  std::set<std::string> growing;
  for (const GrowthFacts& growth : evidence.facts().lifetimes.growing) growing.insert(growth.site);
  // One line may also make memory that stays, such as the workspace of a library for the operators
  // whose results grow.
  const bool has_tensors =
      std::ranges::any_of(evidence.live(), [](const Life* life) { return life->tensor; });
  Change change;
  for (const Life* life : evidence.live()) {
    if (life->tensor != has_tensors) continue;
    if (!growing.contains(evidence.detail().sites[life->site].site)) continue;
    const auto after =
        std::ranges::upper_bound(iterations, life->birth, {}, &IterationFacts::begin_event);
    if (after == iterations.begin() || life->birth >= std::prev(after)->end_event) continue;
    const Change one = FreedBefore(evidence.detail(), {life}, std::prev(after)->end_event);
    change.lives.insert(change.lives.end(), one.lives.begin(), one.lives.end());
  }
  return change;
}

}  // namespace

constinit const Rule kGrowingMemory = {
    .rank = Rank::kUsual,
    .meaning = "memory grows from iteration to iteration",
    .help =
        "A line left blocks behind in one iteration after the other. Something references them: a "
        "list of losses, a cache that is never emptied, a hook.",
    .needs = {kNeedsIterations},
    .advice = FindGrowingMemory,
    .change = GrowingMemoryChange,
    .saves = false,
    .is_fault = true,
    .said_by = {AdviceId::kHeldGraphs, AdviceId::kKeptOutputs, AdviceId::kDataOnCard},
};

}  // namespace vramstow
