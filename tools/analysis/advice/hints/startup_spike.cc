// Advice if the peak is in the start-up, not in the work.
#include <algorithm>

#include "tools/analysis/advice/advice_words.h"
#include "tools/analysis/advice/rule.h"

namespace vramstow {
namespace {

Hint FindStartupSpike(const Evidence& evidence) {
  const Facts& facts = evidence.facts();
  if (facts.iterations.list.empty() || !evidence.HasTrueIterations()) return std::nullopt;
  uint64_t highest = 0;
  for (const IterationFacts& iteration : facts.iterations.list) {
    highest = std::max(highest, iteration.peak_bytes);
  }
  const uint64_t startup = facts.lifetimes.startup_peak_bytes;
  if (startup <= highest || !evidence.IsWorthIt(startup - highest)) return std::nullopt;
  return AdviceFacts{.title = "The peak is during start-up, not in the iterations",
                     .bytes = startup - highest,
                     .evidence = "Before the first iteration " + AdviceText(startup) +
                                 " were allocated, and in iterations never more than " +
                                 AdviceText(highest) + ".",
                     .cost = "None.",
                     .action =
                         "Load weights on the meta device or piece by piece, and free the loaded "
                         "copy before the model is moved."};
}

}  // namespace

constinit const Rule kStartupSpike = {
    .rank = Rank::kUsual,
    .meaning = "the peak is during start-up, not in the iterations",
    .help =
        "Before the first iteration more was allocated than in any iteration. Load weights on the "
        "meta device or piece by piece, and free the loaded copy before the model is moved.",
    .needs = {kNeedsIterations},
    .advice = FindStartupSpike,
};

}  // namespace vramstow
