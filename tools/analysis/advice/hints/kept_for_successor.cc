// Advice about blocks of an earlier iteration that were freed only after the same source line had
// allocated their successors.
#include <algorithm>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "tools/analysis/advice/advice_words.h"
#include "tools/analysis/advice/rule.h"

namespace vramstow {
namespace {

constexpr size_t kMaxEventsLate = 200;  // events between a block and its successor

// Returns the iteration in which the peak was; null if it was in none.
const IterationFacts* IterationOfPeak(const Evidence& evidence) {
  const uint64_t peak = evidence.detail().peak_event;
  for (const IterationFacts& iteration : evidence.facts().iterations.list) {
    if (iteration.begin_event <= peak && peak <= iteration.end_event) return &iteration;
  }
  return nullptr;
}

bool IsKeptForItsSuccessor(const Evidence& evidence, const IterationFacts& iteration,
                           const Life& life, const Life& next) {
  if (!evidence.IsAtPeak(life) || life.death == kStillLive || next.birth > life.death) return false;
  // If the program failed, only frees before the failure count. A block that was freed later was
  // not replaced by a successor.
  const std::vector<OutOfMemoryFacts>& failures = evidence.facts().out_of_memory;
  if (!failures.empty() && life.death >= failures.back().event) return false;
  if (life.death - next.birth > kMaxEventsLate) return false;
  return life.birth < iteration.begin_event && life.death <= iteration.end_event;
}

// In x = f(x) the old block is freed after the new one was allocated. If this is the only reason
// why the old block was live at the peak, deleting its name first saves its bytes.
Hint FindKeptForSuccessor(const Evidence& evidence) {
  const IterationFacts* iteration = IterationOfPeak(evidence);
  if (iteration == nullptr) return std::nullopt;
  std::map<std::pair<uint32_t, uint64_t>, std::vector<const Life*>> alike;
  for (const Life& life : evidence.detail().lives) {
    if (!life.pending && life.site != 0) alike[{life.site, life.size}].push_back(&life);
  }
  uint64_t bytes = 0;
  std::vector<std::pair<uint64_t, std::string>> by_site;
  for (const auto& [key, lives] : alike) {
    const SiteDetail& site = evidence.detail().sites[key.first];
    // Blocks of an optimizer are skipped, because it needs the blocks that it replaces. Parameters
    // are skipped, because they are in use all the time.
    if (!site.by_stack || site.phase == Phase::kOptimizer || site.phase == Phase::kInit) continue;
    uint64_t of_site = 0;
    for (size_t i = 0; i + 1 < lives.size(); ++i) {
      if (IsKeptForItsSuccessor(evidence, *iteration, *lives[i], *lives[i + 1])) {
        of_site += lives[i]->size;
      }
    }
    if (of_site > 0) by_site.emplace_back(of_site, site.site);
    bytes += of_site;
  }
  if (!evidence.IsWorthIt(bytes)) return std::nullopt;
  std::ranges::sort(by_site, std::ranges::greater());
  std::vector<std::string> names;
  for (const auto& [held, name] : by_site) names.push_back(name);
  return AdviceFacts{.title = "References stay until the same line allocates the next block",
                     .bytes = bytes,
                     .evidence = AdviceText(bytes) +
                                 " at the peak were allocated in an earlier iteration and were "
                                 "freed only after the same line had allocated the next ones: " +
                                 FirstNames(names) + ".",
                     .cost = "None, if the value is not read any more.",
                     .action = "Delete the variable (del) at the end of the iteration, before " +
                               by_site.front().second + " runs again."};
}

}  // namespace

constinit const Rule kKeptForSuccessor = {
    .rank = Rank::kUsual,
    .meaning =
        "blocks of an earlier iteration that were freed only after the same line had allocated the "
        "next ones",
    .help =
        "Blocks at the peak were allocated in an earlier iteration, and were freed only after the "
        "same line had allocated the next ones. Delete the variable at the end of the iteration.",
    .needs = {kNeedsIterations},
    .advice = FindKeptForSuccessor,
};

}  // namespace vramstow
