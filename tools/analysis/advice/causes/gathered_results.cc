// A cause of an out-of-memory: results that one list holds, in a program without visible
// iterations.
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "tools/analysis/advice/advice_words.h"
#include "tools/analysis/advice/changes.h"
#include "tools/analysis/advice/keepers.h"
#include "tools/analysis/advice/leftover_blocks.h"
#include "tools/analysis/advice/places.h"
#include "tools/analysis/advice/rule.h"
#include "tools/analysis/explain/census_summary.h"

namespace vramstow {
namespace {

constexpr size_t kLeastResults = 8;

// True if a census (a reference scan) found the block in a list or dictionary, and no graph, model
// or optimizer holds it.
bool IsGathered(const HeldBlock* block) {
  return block != nullptr && block->role == "other" && !IsInGraph(*block) && !IsGarbage(*block) &&
         block->holder.find('[') != std::string::npos &&
         block->holder.find(kUnfinished) == std::string::npos;
}

// Returns the largest group of blocks that one line made and one variable holds.
std::vector<const Life*> LargestGroup(const FailureMoment& moment) {
  std::map<std::pair<std::string, std::string>, std::vector<const Life*>> groups;
  for (const Life* life : moment.live()) {
    const HeldBlock* block = moment.holders().Of(*life);
    if (!life->tensor || !MayPileUp(moment, *life) || !IsGathered(block)) continue;
    groups[{PlaceOf(moment.detail(), life->site), RootOfHolder(block->holder)}].push_back(life);
  }
  std::vector<const Life*> largest;
  for (const auto& [place, lives] : groups) {
    if (BytesOf(lives) > BytesOf(largest)) largest = lives;
  }
  return largest;
}

Found FindGatheredResults(const FailureMoment& moment) {
  Cause cause;
  cause.held = LargestGroup(moment);
  cause.bytes = BytesOf(cause.held);
  if (cause.held.size() < kLeastResults || cause.bytes * 2 < moment.live_bytes()) {
    return std::nullopt;
  }
  cause.change = Without(moment.detail(), cause.held);
  cause.title = "Many results stay on the GPU at once";
  cause.place = PlaceOfPile(moment, cause.held, true);
  cause.evidence = std::to_string(cause.held.size()) + " results in one variable take " +
                   AdviceText(cause.bytes) + " of " + AdviceText(moment.live_bytes()) +
                   " that were live: " + LargestPlaces(moment.detail(), cause.held) + ".";
  DescribeResults(moment, cause.held, &cause);
  return cause;
}

}  // namespace

constinit const Rule kGatheredResults = {
    .rank = Rank::kLast,
    .meaning = "the results in one list, if no iterations of a loop were found",
    .help =
        "At least eight blocks that one line allocated and one variable references are half of the "
        "live memory. Keep only the part of each that is needed, or move it to the host.",
    .needs = {kNeedsCensus},
    .cause = FindGatheredResults,
};

}  // namespace vramstow
