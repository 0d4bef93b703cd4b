#include "tools/analysis/causes/passes.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <string>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"

namespace vramstow {
namespace {

enum class Work : uint8_t { kOther, kBackward, kOptimizer };

Work WorkOf(const SiteDetail& site) {
  if (site.in_optimizer) return Work::kOptimizer;
  return site.in_backward ? Work::kBackward : Work::kOther;
}

// Layers and set-up repeat themselves, too.
bool IsInsideModel(const std::string& line) {
  for (const char* name : {"forward", "__init__", "_apply", "__call__"}) {
    if (line.ends_with(name)) return true;
  }
  return false;
}

// One run of allocations in backward passes or optimizer steps.
struct Run {
  Work work = Work::kOther;
  uint64_t begin = 0;
  uint64_t next = kStillLive;  // what is born after it; kStillLive: nothing is
  uint32_t next_site = 0;
};

bool IsAnAllocation(const Life& life) { return !life.pending && !life.opened; }

// backward() makes its first gradient on the thread that calls it.
bool CallsBackward(const SiteDetail& site) {
  return site.in_backward && !site.own.empty() && site.module.empty() &&
         site.phase == Phase::kBackward;
}

// Runs of one kind; what else happens (`skipped`) does not end them.
std::vector<Run> RunsOf(const Detail& detail, Work wanted) {
  std::vector<Run> runs;
  bool inside = false;
  for (const Life& life : detail.lives) {
    if (!IsAnAllocation(life) || !life.tensor) continue;
    const SiteDetail& site = detail.sites[life.site];
    const Work work = WorkOf(site);
    if (work == wanted) {
      const bool is_call = wanted == Work::kBackward && CallsBackward(site);
      if (!inside || is_call) runs.push_back({work, life.birth});
      inside = true;
      continue;
    }
    if (work != Work::kOther) continue;
    if (inside) {
      runs.back().next = life.birth;
      runs.back().next_site = life.site;
    }
    inside = false;
  }
  for (size_t i = 0; i + 1 < runs.size(); ++i) {
    runs[i].next = std::min(runs[i].next, runs[i + 1].begin);
  }
  return runs;
}

// Where the first pass begins: where the second one's first block came before, or the first module
// ran.
uint64_t FirstBegin(const Detail& detail, uint64_t before, uint32_t site) {
  uint64_t forward = before;
  for (const Life& life : detail.lives) {
    if (life.birth >= before) break;
    if (!IsAnAllocation(life)) continue;
    if (site != 0 && life.site == site) return life.birth;
    if (detail.sites[life.site].phase == Phase::kForward) forward = std::min(forward, life.birth);
  }
  return forward;
}

// The levels of a call stack, with the turns of each.
class Loops {
 public:
  explicit Loops(const Detail& detail) : detail_(detail) {}

  void Add(const Life& life) {
    const std::vector<CodeLine>& own = detail_.sites[life.site].own;
    if (own.empty()) return;
    size_t depth = 0;
    while (depth < own.size() && depth < levels_.size() &&
           levels_[depth].line.function == own[depth].function &&
           levels_[depth].line.line == own[depth].line) {
      ++depth;
    }
    if (depth < own.size() && depth < levels_.size() &&
        levels_[depth].line.function == own[depth].function) {
      // Another line of the same function: forward, or back to where the loop begins.
      if (own[depth].line < levels_[depth].line.line) Turn(depth, life.birth);
      levels_[depth].line = own[depth];
      ++depth;
    }
    levels_.resize(std::min(depth, levels_.size()));
    for (; depth < own.size(); ++depth) Enter(depth, own[depth], life.birth);
    // The same place again, and nothing went back: the loop is on one line. Not so where a library
    // does something for each of many tensors.
    const SiteDetail& site = detail_.sites[life.site];
    if (!site.is_own_call && site.module.empty()) return;
    if (!levels_.back().seen.insert(life.site).second) {
      Turn(levels_.size() - 1, life.birth);
      levels_.back().seen.insert(life.site);
    }
  }

  // The turns of the outermost loop that is none of layers; empty: there is none.
  std::vector<uint64_t> Outermost() const {
    for (const auto& [key, turns] : turns_) {
      if (turns.size() >= 2) return turns;
    }
    return {};
  }

 private:
  struct Level {
    CodeLine line;
    absl::flat_hash_set<uint32_t> seen;  // sites of this turn that are in the function itself
  };

  void Enter(size_t depth, const CodeLine& line, uint64_t event) {
    levels_.push_back({line, {}});
    if (IsInsideModel(detail_.lines[line.text])) return;
    turns_.try_emplace({depth, line.function}, std::vector<uint64_t>{event});
  }
  void Turn(size_t depth, uint64_t event) {
    levels_[depth].seen.clear();
    const auto known = turns_.find({depth, levels_[depth].line.function});
    if (known != turns_.end()) known->second.push_back(event);
  }

  const Detail& detail_;
  std::vector<Level> levels_;
  std::map<std::pair<size_t, uint64_t>, std::vector<uint64_t>> turns_;
};

}  // namespace

Passes::Passes(const Detail& detail) : end_(detail.events + 1) {
  for (const Life& life : detail.lives) {
    if (IsAnAllocation(life) && CallsBackward(detail.sites[life.site])) {
      calls_.emplace_back(life.birth, life.site);
    }
  }
  FindByBackward(detail);
  if (begins_.size() < 2) FindByLoop(detail);
}

std::string Passes::BackwardCall(const Detail& detail, uint64_t event) const {
  auto next = std::ranges::upper_bound(calls_, event, {}, &std::pair<uint64_t, uint32_t>::first);
  if (next == calls_.begin()) return "";
  return detail.lines[detail.sites[std::prev(next)->second].own.back().text];
}

int64_t Passes::At(uint64_t event) const {
  return std::ranges::upper_bound(begins_, event) - begins_.begin() - 1;
}

void Passes::FindByBackward(const Detail& detail) {
  const std::vector<Run> backward = RunsOf(detail, Work::kBackward);
  if (backward.empty()) return;
  const std::vector<Run> steps = RunsOf(detail, Work::kOptimizer);
  const bool by_steps = steps.size() >= 2 && steps.size() <= backward.size();
  const std::vector<Run>& runs = by_steps ? steps : backward;
  by_ = by_steps ? By::kOptimizer : By::kBackward;
  begins_.push_back(FirstBegin(detail, runs.front().begin, runs.front().next_site));
  absl::flat_hash_set<uint32_t> firsts;  // sites with which passes begin
  for (size_t i = 0; i < runs.size(); ++i) {
    if (runs[i].next == kStillLive) break;
    // What comes after the last run is a pass if it begins as another one did, or fails.
    const bool is_last = i + 1 == runs.size();
    if (is_last && runs.size() > 1 && !firsts.contains(runs[i].next_site)) {
      end_ = runs[i].next;
      break;
    }
    firsts.insert(runs[i].next_site);
    begins_.push_back(runs[i].next);
  }
}

void Passes::FindByLoop(const Detail& detail) {
  Loops loops(detail);
  for (const Life& life : detail.lives) {
    const SiteDetail& site = detail.sites[life.site];
    if (!IsAnAllocation(life) || !life.tensor) continue;
    if (!site.in_backward && site.phase != Phase::kInit) loops.Add(life);
  }
  std::vector<uint64_t> turns = loops.Outermost();
  if (turns.size() < 2) return;
  by_ = By::kLoop;
  begins_ = std::move(turns);
}

}  // namespace vramstow
