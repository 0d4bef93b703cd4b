// Finds the iterations of the program or, if nothing shows them, a recurring pattern of sizes.
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>

#include "absl/container/flat_hash_map.h"
#include "tools/analysis/explain/explain.h"

namespace vramstow {
namespace {

constexpr size_t kLeastIterations = 3;
constexpr double kMaxSpread = 0.15;     // standard deviation ÷ mean of the distances
constexpr double kSameDistance = 0.03;  // the tolerance for equal distances
// The least part of the allocations that a recurring pattern must cover.
constexpr double kLeastCover = 0.4;

struct Boundary {
  uint64_t event = 0;
  uint64_t time_ns = 0;
};

// How regularly blocks of one size and call site appear. Distances are counted in allocations,
// because other events (such as queries and launches) are irregular.
struct Rhythm {
  uint64_t first = 0;
  uint64_t last = 0;
  uint64_t count = 0;
  double sum = 0;
  double sum_of_squares = 0;

  double Distance() const { return sum / static_cast<double>(count - 1); }
  double Spread() const {
    const double mean = Distance();
    const double variance = sum_of_squares / static_cast<double>(count - 1) - mean * mean;
    return mean > 0 ? std::sqrt(std::max(0.0, variance)) / mean : 1;
  }
};

using Key = std::pair<uint64_t, uint32_t>;  // size, site

struct Candidate {
  Key key;
  Rhythm rhythm;
};

// Returns the call sites whose blocks recur with the layers of a model: those inside of a model,
// and those that construct it.
std::vector<bool> SitesOfModels(const Detail& detail) {
  std::vector<bool> are_of_models;
  for (const SiteDetail& site : detail.sites) {
    are_of_models.push_back(site.by_stack &&
                            (site.phase == Phase::kInit || RunsModel(detail, site)));
  }
  return are_of_models;
}

std::vector<Candidate> Regular(const Detail& detail) {
  const std::vector<bool> are_of_models = SitesOfModels(detail);
  absl::flat_hash_map<Key, Rhythm> rhythms;
  uint64_t number = 0;
  for (const Life& life : detail.lives) {
    if (life.opened || life.pending) continue;
    ++number;
    if (are_of_models[life.site]) continue;
    Rhythm& rhythm = rhythms[Key(life.size, life.site)];
    if (rhythm.count++ == 0) {
      rhythm.first = number;
    } else {
      const auto distance = static_cast<double>(number - rhythm.last);
      rhythm.sum += distance;
      rhythm.sum_of_squares += distance * distance;
    }
    rhythm.last = number;
  }
  std::vector<Candidate> regular;
  for (const auto& [key, rhythm] : rhythms) {
    if (rhythm.count < kLeastIterations || rhythm.Spread() > kMaxSpread) continue;
    const auto covered = static_cast<double>(rhythm.last - rhythm.first);
    if (covered < kLeastCover * static_cast<double>(number)) continue;
    regular.push_back({key, rhythm});
  }
  std::sort(regular.begin(), regular.end(), [](const Candidate& a, const Candidate& b) {
    const double distance_a = a.rhythm.Distance();
    const double distance_b = b.rhythm.Distance();
    return distance_a != distance_b ? distance_a < distance_b : a.rhythm.first < b.rhythm.first;
  });
  return regular;
}

// Returns the first candidate with the most common distance; it marks the beginning of an
// iteration.
const Candidate* FindAnchor(const std::vector<Candidate>& regular) {
  const Candidate* anchor = nullptr;
  size_t most = 0;
  for (size_t from = 0; from < regular.size();) {
    const double distance = regular[from].rhythm.Distance();
    size_t to = from;
    while (to < regular.size() && regular[to].rhythm.Distance() <= distance * (1 + kSameDistance)) {
      ++to;
    }
    if (to - from > most) {
      most = to - from;
      anchor = &*std::min_element(
          regular.begin() + static_cast<ptrdiff_t>(from),
          regular.begin() + static_cast<ptrdiff_t>(to),
          [](const Candidate& a, const Candidate& b) { return a.rhythm.first < b.rhythm.first; });
    }
    from = to;
  }
  return anchor;
}

std::vector<Boundary> BoundariesByPattern(const Detail& detail) {
  std::vector<Boundary> boundaries;
  const std::vector<Candidate> regular = Regular(detail);
  const Candidate* anchor = FindAnchor(regular);
  // If only a single size recurs, this may be by chance.
  if (anchor == nullptr) return boundaries;
  uint64_t since = 0;  // number of allocations
  for (const Life& life : detail.lives) {
    if (life.opened || life.pending) continue;
    ++since;
    if (Key(life.size, life.site) != anchor->key) continue;
    boundaries.push_back({life.birth, life.birth_ns});
    since = 1;
  }
  // The last iteration may be cut off, so it counts only if it is nearly as long as the others.
  if (static_cast<double>(since) >= anchor->rhythm.Distance() * 0.9) {
    boundaries.push_back({detail.events + 1, detail.levels.empty() ? boundaries.back().time_ns
                                                                   : detail.levels.back().time_ns});
  }
  return boundaries;
}

void FillLevels(const Detail& detail, IterationsFacts* facts) {
  const uint64_t per_step = std::max<uint64_t>(1, detail.events_per_step);
  facts->exact = per_step == 1;
  for (IterationFacts& iteration : facts->list) {
    const size_t first = (iteration.begin_event - 1) / per_step;
    const size_t last =
        std::min<size_t>((iteration.end_event - 2) / per_step + 1, detail.levels.size());
    for (size_t i = first; i < last; ++i) {
      iteration.peak_bytes = std::max(iteration.peak_bytes, detail.levels[i].allocated);
      iteration.peak_reserved_bytes =
          std::max(iteration.peak_reserved_bytes, detail.levels[i].reserved);
    }
    if (first > 0) iteration.begin_bytes = detail.levels[first - 1].last_allocated;
    if (last > 0) iteration.end_bytes = detail.levels[last - 1].last_allocated;
  }
}

void FillAllocations(const Detail& detail, IterationsFacts* facts) {
  size_t iteration = 0;
  for (const Life& life : detail.lives) {
    if (life.opened || life.pending) continue;
    while (iteration < facts->list.size() && facts->list[iteration].end_event <= life.birth) {
      ++iteration;
    }
    if (iteration == facts->list.size()) break;
    IterationFacts& now = facts->list[iteration];
    if (life.birth < now.begin_event) continue;
    ++now.allocations;
    now.allocated_bytes += life.size;
    if (life.death >= now.end_event) now.kept_bytes += life.size;
  }
}

int64_t MedianChange(const std::vector<IterationFacts>& iterations) {
  std::vector<int64_t> growth;
  for (const IterationFacts& iteration : iterations) {
    growth.push_back(static_cast<int64_t>(iteration.end_bytes - iteration.begin_bytes));
  }
  // The first iteration is ignored, because it allocates memory that the later ones reuse.
  if (growth.size() > 2) growth.erase(growth.begin());
  if (growth.empty()) return 0;
  const auto middle = growth.begin() + static_cast<ptrdiff_t>(growth.size() / 2);
  std::nth_element(growth.begin(), middle, growth.end());
  return *middle;
}

int64_t MedianLevel(const std::vector<IterationFacts>& iterations, size_t begin, size_t count) {
  std::vector<uint64_t> levels;
  for (size_t i = begin; i < begin + count; ++i) levels.push_back(iterations[i].end_bytes);
  const auto middle = levels.begin() + static_cast<ptrdiff_t>(count / 2);
  std::nth_element(levels.begin(), middle, levels.end());
  return static_cast<int64_t>(*middle);
}

// Returns the growth per iteration. It compares levels of several iterations, because memory that
// grows in some iterations and not in others has a median change of nothing.
int64_t LevelGrowth(const std::vector<IterationFacts>& iterations) {
  constexpr size_t kLeast = 8;
  // The very last iteration is ignored, because the program may free its memory in it.
  const size_t end = iterations.size() - 1;
  if (end < kLeast) return MedianChange(iterations);
  // Levels often alternate between two values. The number of iterations in a quarter is even, so
  // that each quarter has as many of both.
  const size_t quarter = end / 4 / 2 * 2;
  const auto distance = static_cast<int64_t>(quarter);
  const int64_t last = MedianLevel(iterations, end - quarter, quarter);
  const int64_t third = MedianLevel(iterations, end - 2 * quarter, quarter);
  const int64_t second = MedianLevel(iterations, end - 3 * quarter, quarter);
  // A container with a limit is full at some time. Growth that has slowed down to less than half is
  // that of the last quarter only.
  const bool has_slowed = std::abs(last - third) * 2 < std::abs(third - second);
  return has_slowed ? (last - third) / distance : (last - second) / (2 * distance);
}

const char* NameOf(Iterations::By by) {
  switch (by) {
    case Iterations::By::kMarks:
      return "marks";
    case Iterations::By::kOptimizer:
      return "optimizer_steps";
    case Iterations::By::kBackward:
      return "backward_passes";
    case Iterations::By::kForward:
      return "forward_passes";
    case Iterations::By::kLoop:
      return "loop";
    case Iterations::By::kNone:
      break;
  }
  return "none";
}

// True if these executions of a loop's body are the main part of the program's work.
bool IsMainLoop(const Detail& detail, const std::vector<Iteration>& turns) {
  if (turns.size() < kLeastIterations) return false;
  const uint64_t covered = turns.back().begin - turns.front().begin;
  return static_cast<double>(covered) >= kLeastCover * static_cast<double>(detail.events);
}

bool AreIterations(const Detail& detail, const Iterations& passes) {
  if (passes.by() == Iterations::By::kLoop) return IsMainLoop(detail, passes.all());
  return !passes.all().empty();
}

void FillByPasses(const Detail& detail, const Iterations& passes, IterationsFacts* facts) {
  facts->found_by = NameOf(passes.by());
  facts->mark = passes.mark();
  facts->is_sure = passes.is_sure();
  facts->count = passes.all().size();
  facts->backward_per_iteration = passes.BackwardPerPass(detail);
  for (const Iteration& pass : passes.all()) {
    IterationFacts iteration;
    iteration.begin_event = pass.begin;
    iteration.end_event = pass.end;
    iteration.begin_ns = TimeOfEvent(detail, pass.begin);
    iteration.end_ns = std::max(iteration.begin_ns, TimeOfEvent(detail, pass.end));
    facts->list.push_back(iteration);
  }
}

void FillByPattern(const Detail& detail, IterationsFacts* facts) {
  const std::vector<Boundary> boundaries = BoundariesByPattern(detail);
  if (boundaries.size() <= kLeastIterations) {
    facts->why_not =
        "no marks, no steps of an optimizer and no backward passes show where an iteration begins, "
        "and outside of a model nothing repeats at least three times at a regular distance.";
    return;
  }
  facts->found_by = "pattern";
  for (size_t i = 0; i + 1 < boundaries.size(); ++i) {
    if (boundaries[i + 1].event <= boundaries[i].event) continue;
    IterationFacts iteration;
    iteration.begin_event = boundaries[i].event;
    iteration.end_event = boundaries[i + 1].event;
    iteration.begin_ns = boundaries[i].time_ns;
    iteration.end_ns = boundaries[i + 1].time_ns;
    facts->list.push_back(iteration);
  }
  facts->count = facts->list.size();
}

}  // namespace

uint64_t TimeOfEvent(const Detail& detail, uint64_t event) {
  if (event > detail.events) return detail.levels.empty() ? 0 : detail.levels.back().time_ns;
  const auto life = std::ranges::lower_bound(detail.lives, event, {}, &Life::birth);
  const auto mark = std::ranges::lower_bound(detail.marks, event, {}, &MarkDetail::event);
  if (mark != detail.marks.end() && (life == detail.lives.end() || mark->event < life->birth)) {
    return mark->time_ns;
  }
  if (life != detail.lives.end()) return life->birth_ns;
  return detail.levels.empty() ? 0 : detail.levels.back().time_ns;
}

IterationsFacts FindIterations(const Detail& detail, const Iterations& passes) {
  IterationsFacts facts;
  facts.found_by = "none";
  if (detail.events < detail.first_event + 2) {
    facts.why_not = "there are no events in which to look for iterations.";
    return facts;
  }
  if (AreIterations(detail, passes)) {
    FillByPasses(detail, passes, &facts);
  } else {
    FillByPattern(detail, &facts);
  }
  if (facts.list.empty()) return facts;
  FillLevels(detail, &facts);
  FillAllocations(detail, &facts);
  for (IterationFacts& iteration : facts.list) {
    iteration.launches =
        LaunchesBetween(detail.launches, iteration.begin_event, iteration.end_event);
  }
  facts.growth_bytes = LevelGrowth(facts.list);
  return facts;
}

}  // namespace vramstow
