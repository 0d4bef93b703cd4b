// A cause of an out-of-memory: each iteration leaves one result behind.
#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tools/analysis/advice/changes.h"
#include "tools/analysis/advice/keepers.h"
#include "tools/analysis/advice/layer_turns.h"
#include "tools/analysis/advice/leftover_blocks.h"
#include "tools/analysis/advice/rule.h"
#include "tools/analysis/explain/census_summary.h"

namespace vramstow {
namespace {

// True if most of the blocks only wait for the garbage collector.
bool AreGarbage(const FailureMoment& moment, const std::vector<const Life*>& lives) {
  uint64_t bytes = 0;
  for (const Life* life : lives) {
    const HeldBlock* block = moment.holders().Of(*life);
    if (block != nullptr && IsGarbage(*block)) bytes += life->size;
  }
  return bytes * 2 > BytesOf(lives);
}

// Removes blocks that the program still works on: several blocks that were all made after the
// leftovers and that another variable holds, or a list that is being built. A single block is not
// removed, because it is held only by the variable of a loop.
void LeaveOutWork(const FailureMoment& moment, LeftoverBlocks* pile) {
  struct Group {
    uint64_t bytes = 0;
    size_t blocks = 0;
    uint64_t first = kStillLive;
    uint64_t last = 0;
  };
  std::map<std::string, Group> groups;
  const auto root_of = [&](const Life* life) {
    const HeldBlock* block = moment.holders().Of(*life);
    return block == nullptr ? std::string() : RootOfHolder(block->holder);
  };
  for (const Life* life : pile->lives) {
    Group& group = groups[root_of(life)];
    group.bytes += life->size;
    ++group.blocks;
    group.first = std::min(group.first, life->birth);
    group.last = std::max(group.last, life->birth);
  }
  const auto main = std::ranges::max_element(
      groups, {}, [](const auto& one) { return one.first.empty() ? 0 : one.second.bytes; });
  if (main == groups.end() || main->first.empty()) return;
  std::erase_if(pile->lives, [&](const Life* life) {
    const Group& group = groups[root_of(life)];
    return group.first > main->second.last && group.blocks >= kLeastPasses;
  });
}

// Adds the blocks that were assigned to the same variable in the current iteration. An evaluation
// within this iteration has iterations of its own, which leave such blocks behind.
void AddOfPassThatRuns(const FailureMoment& moment, const LeftoverBlocks& pile, Cause* cause) {
  std::set<uint32_t> sites;
  std::map<std::string, uint64_t> by_pattern;
  for (const Life* life : pile.lives) {
    const HeldBlock* block = moment.holders().Of(*life);
    sites.insert(life->site);
    if (block != nullptr) by_pattern[PatternOf(block->holder)] += life->size;
  }
  if (by_pattern.empty()) return;
  const std::string& pattern =
      std::ranges::max_element(by_pattern, {}, [](const auto& one) { return one.second; })->first;
  std::vector<const Life*> made;
  for (const Life* life : moment.live()) {
    const HeldBlock* block = moment.holders().Of(*life);
    if (block == nullptr || moment.PassOf(*life) != moment.pass()) continue;
    if (sites.contains(life->site) && PatternOf(block->holder) == pattern) made.push_back(life);
  }
  const Change change = FreedBefore(moment.detail(), made, moment.event());
  cause->change.lives.insert(cause->change.lives.end(), change.lives.begin(), change.lives.end());
  cause->held.insert(cause->held.end(), made.begin(), made.end());
  cause->bytes += BytesOf(made);
}

void Describe(const FailureMoment& moment, const std::vector<const Life*>& lives, Cause* cause) {
  cause->title = "Results of a loop stay on the GPU";
  if (moment.holders().OfAll(lives).empty()) {
    cause->evidence += " A list, a dict or a hook may reference them.";
  }
  DescribeResults(moment, lives, cause);
}

Found LeftByIterations(const FailureMoment& moment) {
  LeftoverBlocks pile = PileOf(moment);
  if (pile.lives.empty() || pile.is_graph || AreGarbage(moment, pile.lives)) return std::nullopt;
  LeaveOutWork(moment, &pile);
  Cause cause = OfPile(moment, pile);
  AddOfPassThatRuns(moment, pile, &cause);
  if (!moment.IsLarge(cause.bytes)) return std::nullopt;
  Describe(moment, pile.lives, &cause);
  return cause;
}

// Returns the events at which a loop begins its body that runs after the last training step, for
// example a loop over the batches of an evaluation. The list is empty if nothing was trained.
std::vector<uint64_t> TurnsAfterTraining(const FailureMoment& moment) {
  const auto trains = [](const SiteDetail& site) { return site.in_backward || site.in_optimizer; };
  uint64_t trained = 0;
  for (const Life& life : moment.detail().lives) {
    if (life.birth >= moment.event()) break;
    if (life.tensor && trains(moment.site_of(life))) trained = life.birth;
  }
  if (trained == 0 || trains(moment.request_site())) return {};
  return Iterations::TurnsWithin(moment.detail(), trained + 1, moment.event() + 1);
}

// True if a list or a dictionary holds the block, and it is a result, which no graph has recorded.
bool IsGathered(const FailureMoment& moment, const Life& life) {
  const HeldBlock* block = moment.holders().Of(life);
  return block != nullptr && block->role == "other" && !IsRecorded(*block) && !IsGarbage(*block) &&
         block->holder.find('[') != std::string::npos &&
         block->holder.find(kUnfinished) == std::string::npos && !moment.IsCache(life);
}

// Returns the results that one list or dictionary holds, of several turns of this loop. If there
// are several such lists, the largest one counts.
LeftoverBlocks PileOfTurns(const FailureMoment& moment, const std::vector<uint64_t>& turns) {
  std::map<std::string, LeftoverBlocks> lists;
  for (const Life* life : moment.live()) {
    if (life->birth < turns.front() || !MayPileUp(moment, *life) || !IsGathered(moment, *life)) {
      continue;
    }
    const std::string& holder = moment.holders().Of(*life)->holder;
    LeftoverBlocks& list = lists[holder.substr(0, holder.find('['))];
    list.lives.push_back(life);
    list.passes.insert(std::ranges::upper_bound(turns, life->birth) - turns.begin());
  }
  LeftoverBlocks largest;
  for (auto& [holder, list] : lists) {
    const bool is_left =
        list.passes.size() >= kLeastPasses && !AreLayers(moment, list.lives, turns);
    if (is_left && BytesOf(list.lives) > BytesOf(largest.lives)) largest = std::move(list);
  }
  return largest;
}

// The iterations are those of the training. An evaluation, in which memory runs out, belongs to the
// last one of them, and has a loop of its own.
Found LeftByEvaluation(const FailureMoment& moment) {
  const std::vector<uint64_t> turns = TurnsAfterTraining(moment);
  if (turns.size() < kLeastPasses) return std::nullopt;
  const LeftoverBlocks pile = PileOfTurns(moment, turns);
  if (pile.lives.empty()) return std::nullopt;
  Cause cause = OfPile(moment, pile);
  if (!moment.IsLarge(cause.bytes)) return std::nullopt;
  cause.change = FreedWithTurn(moment, pile.lives, turns);
  Describe(moment, pile.lives, &cause);
  return cause;
}

Found FindKeptOutputs(const FailureMoment& moment) {
  Found of_iterations = LeftByIterations(moment);
  Found of_evaluation = LeftByEvaluation(moment);
  if (!of_iterations.has_value()) return of_evaluation;
  if (!of_evaluation.has_value()) return of_iterations;
  return of_evaluation->bytes > of_iterations->bytes ? of_evaluation : of_iterations;
}

}  // namespace

constinit const Rule kKeptOutputs = {
    .rank = Rank::kMistake,
    .meaning = "each iteration leaves one result behind",
    .help =
        "Each of at least three earlier iterations left a block behind that belongs to no autograd "
        "graph. A list, a dictionary, a cache, a queue or a hook references them; the census names "
        "it. Turns of a loop that runs after the last training step count as iterations, too. Keep "
        "only the part that is needed (a mean, an index, a clone of a slice), or move it "
        "to the host.",
    .needs = {kNeedsEarlierIteration},
    .cause = FindKeptOutputs,
};

}  // namespace vramstow
