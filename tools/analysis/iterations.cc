// Where iterations begin: by what the application says, or by what recurs.
#include <algorithm>
#include <cmath>
#include <limits>

#include "absl/container/flat_hash_map.h"
#include "tools/analysis/explain.h"

namespace vramstow {
namespace {

constexpr size_t kLeastIterations = 3;
constexpr double kMostSpread = 0.15;    // standard deviation ÷ mean of the distances
constexpr double kSameDistance = 0.03;  // what counts as the same distance
constexpr double kLeastCover = 0.4;     // of the allocations, that the repetition has to cover

struct Boundary {
  uint64_t event = 0;
  uint64_t time_ns = 0;
};

// "ProfilerStep#12" → "ProfilerStep#".
std::string WithoutNumber(std::string text) {
  while (!text.empty() && text.back() >= '0' && text.back() <= '9') text.pop_back();
  return text;
}

bool SpeaksOfSteps(const std::string& text) {
  std::string lower = text;
  std::ranges::transform(lower, lower.begin(),
                         [](char c) { return c >= 'A' && c <= 'Z' ? char(c - 'A' + 'a') : c; });
  for (const char* word : {"step", "iter", "batch"}) {
    if (lower.find(word) != std::string::npos) return true;
  }
  return false;
}

// The marks that most plainly say where an iteration begins (or, of an optimizer's step, ends).
std::vector<Boundary> BoundariesByMarks(const Detail& detail, std::string* text) {
  absl::flat_hash_map<std::string, std::vector<Boundary>> groups;
  for (const MarkDetail& mark : detail.marks) {
    const bool is_optimizer = mark.text.starts_with("Optimizer.step");
    const auto wanted = is_optimizer ? MarkDetail::Kind::kEnd : MarkDetail::Kind::kBegin;
    if (mark.kind != wanted && mark.kind != MarkDetail::Kind::kMoment) continue;
    const std::string name = WithoutNumber(mark.text);
    if (SpeaksOfSteps(name)) groups[name].push_back({mark.event, mark.time_ns});
  }
  std::vector<Boundary> best;
  int best_rank = -1;
  for (auto& [name, boundaries] : groups) {
    if (boundaries.size() < 2) continue;
    const int rank = name.starts_with("ProfilerStep") ? 3 : name.starts_with("Optimizer.") ? 1 : 2;
    if (rank < best_rank || (rank == best_rank && name > *text)) continue;
    best_rank = rank;
    best = boundaries;
    *text = name;
  }
  return best;
}

// How regularly blocks of one size and site come; counted in allocations, because what else is
// recorded (a pool that settles, questions, launches) comes as it likes.
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

std::vector<Candidate> Regular(const Detail& detail) {
  absl::flat_hash_map<Key, Rhythm> rhythms;
  uint64_t number = 0;
  for (const Life& life : detail.lives) {
    if (life.opened || life.pending) continue;
    ++number;
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
    if (rhythm.count < kLeastIterations || rhythm.Spread() > kMostSpread) continue;
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

// Of all that comes at one distance, most of all: what comes first marks the beginning.
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
  // One size that recurs may be chance.
  if (anchor == nullptr) return boundaries;
  uint64_t since = 0;  // allocations
  for (const Life& life : detail.lives) {
    if (life.opened || life.pending) continue;
    ++since;
    if (Key(life.size, life.site) != anchor->key) continue;
    boundaries.push_back({life.birth, life.birth_ns});
    since = 1;
  }
  // The last one may be cut off: it counts where it is nearly as long as the others.
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

int64_t MedianGrowth(const std::vector<IterationFacts>& iterations) {
  std::vector<int64_t> growth;
  for (const IterationFacts& iteration : iterations) {
    growth.push_back(static_cast<int64_t>(iteration.end_bytes - iteration.begin_bytes));
  }
  // The first builds up what the others find.
  if (growth.size() > 2) growth.erase(growth.begin());
  if (growth.empty()) return 0;
  const auto middle = growth.begin() + static_cast<ptrdiff_t>(growth.size() / 2);
  std::nth_element(growth.begin(), middle, growth.end());
  return *middle;
}

}  // namespace

IterationsFacts FindIterations(const Detail& detail) {
  IterationsFacts facts;
  facts.found_by = "none";
  if (detail.events < detail.first_event + 2) {
    facts.why_not = "there are no events to look for iterations in.";
    return facts;
  }
  std::vector<Boundary> boundaries = BoundariesByMarks(detail, &facts.mark);
  if (!boundaries.empty()) {
    facts.found_by = "marks";
    if (facts.mark.starts_with("Optimizer.")) {
      boundaries.insert(boundaries.begin(), Boundary{detail.first_event, 0});
    } else {
      boundaries.push_back({detail.events + 1, detail.levels.back().time_ns});
    }
  } else {
    boundaries = BoundariesByPattern(detail);
    if (boundaries.size() > kLeastIterations) facts.found_by = "pattern";
  }
  if (facts.found_by == "none") {
    facts.why_not =
        "no marks say where one begins, and nothing recurs at least three times at a steady "
        "distance.";
    return facts;
  }
  for (size_t i = 0; i + 1 < boundaries.size(); ++i) {
    if (boundaries[i + 1].event <= boundaries[i].event) continue;
    ++facts.count;
    if (facts.list.size() == kMostIterations) continue;
    IterationFacts iteration;
    iteration.begin_event = boundaries[i].event;
    iteration.end_event = boundaries[i + 1].event;
    iteration.begin_ns = boundaries[i].time_ns;
    iteration.end_ns = boundaries[i + 1].time_ns;
    facts.list.push_back(iteration);
  }
  FillLevels(detail, &facts);
  FillAllocations(detail, &facts);
  for (IterationFacts& iteration : facts.list) {
    iteration.launches =
        LaunchesBetween(detail.launches, iteration.begin_event, iteration.end_event);
  }
  facts.growth_bytes = MedianGrowth(facts.list);
  return facts;
}

}  // namespace vramstow
