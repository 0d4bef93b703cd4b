// Advice if memory grows without end over a long run, whether iterations are known or not.
#include <string>

#include "tools/analysis/advice/advice_words.h"
#include "tools/analysis/advice/growth_words.h"
#include "tools/analysis/advice/rule.h"
#include "tools/base/words.h"

namespace vramstow {
namespace {

Hint FindGrowthByTheHour(const Evidence& evidence) {
  const Facts& facts = evidence.facts();
  const HourFacts& growth = facts.by_hour;
  if (!growth.is_endless || growth.by_site.empty()) return std::nullopt;
  // If the iterations are known, the growth is reported with the blocks that each iteration leaves
  // behind.
  if (GrownByIterations(evidence) > 0) return std::nullopt;
  const SiteHourFacts& first = growth.by_site.front();
  const std::string all = AdviceText(static_cast<uint64_t>(growth.bytes_per_hour));
  return AdviceFacts{
      .title = "Memory grows by " + all + " an hour, without end",
      .bytes = growth.to_bytes - growth.from_bytes,
      .evidence = "The lowest level rose from " + AdviceText(growth.from_bytes) + " to " +
                  AdviceText(growth.to_bytes) + " in " + Time(growth.over_ns) +
                  ", in the last quarter of the run as well. " + first.site + " grows by " +
                  AdviceText(static_cast<uint64_t>(first.bytes_per_hour)) + " an hour." +
                  WhenFull(facts),
      .cost = "None.",
      .action =
          "Find out what references it: a list of losses (use .item() or .detach()), a cache that "
          "is never emptied, a hook.",
      .place = first.site};
}

bool HasEndlessGrowth(const Evidence& evidence) { return evidence.facts().by_hour.is_endless; }

constexpr Precondition kNeedsHours = {
    .words = "the job ran long enough to measure growth over hours, and the growth had not ended",
    .in_job = HasEndlessGrowth};

}  // namespace

constinit const Rule kGrowsByTheHour = {
    .rank = Rank::kUsual,
    .meaning = "memory grows over hours",
    .help =
        "In a run of five minutes or more, the lowest level of live memory rose in the last "
        "quarter of the run, by at least half as much as in the quarter before. These levels are "
        "known even if the trace has only sums of its older events.",
    .needs = {kNeedsHours},
    .advice = FindGrowthByTheHour,
    .saves = false,
    .is_fault = true,
    .said_by = {AdviceId::kHeldGraphs, AdviceId::kKeptOutputs, AdviceId::kDataOnCard},
};

}  // namespace vramstow
