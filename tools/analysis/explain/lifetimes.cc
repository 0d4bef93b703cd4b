// Measures how long blocks live, in iterations: which blocks are freed in the iteration that
// allocated them, which are never freed, and which accumulate.
#include <algorithm>
#include <tuple>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "tools/analysis/explain/explain.h"

namespace vramstow {
namespace {

constexpr size_t kMaxStartupSites = 20;
constexpr size_t kLeastLeftBehind = 3;

// Finds the iteration of an event. The result is -1 before the first iteration, and the number of
// iterations after the last one.
class IterationOf {
 public:
  explicit IterationOf(const std::vector<IterationFacts>& list) : list_(list) {}
  int64_t operator()(uint64_t event) const {
    const auto after = std::upper_bound(
        list_.begin(), list_.end(), event,
        [](uint64_t e, const IterationFacts& iteration) { return e < iteration.begin_event; });
    const int64_t index = after - list_.begin() - 1;
    if (index >= 0 && event >= list_[static_cast<size_t>(index)].end_event) return index + 1;
    return index;
  }

 private:
  const std::vector<IterationFacts>& list_;
};

void AddLife(const Life& life, Amount* amount) {
  amount->bytes += life.size;
  ++amount->blocks;
}

// The blocks that one call site left behind, and the number of iterations in which it did so.
struct LeftBehind {
  Amount amount;
  absl::flat_hash_set<int64_t> iterations;
  int64_t late_bytes = 0;  // the growth of its blocks in the last iterations
};

// The last iterations without the very last one, because frees at the end of the program show
// nothing. A container with a limit is full by then, and frees as much as it stores.
struct LateIterations {
  explicit LateIterations(const std::vector<IterationFacts>& list) {
    constexpr size_t kPart = 8;
    constexpr size_t kLeast = 3;
    const size_t last = list.size() - 1;
    count = std::min(last, std::max(kLeast, list.size() / kPart));
    begin = list[last - count].begin_event;
    end = list[last].begin_event;
  }
  bool Has(uint64_t event) const { return begin <= event && event < end; }

  size_t count = 0;
  uint64_t begin = 0;
  uint64_t end = 0;
};

// True if the growth continues: in the last iterations it is at least half of the average of the
// earlier ones.
bool StillGrows(const LeftBehind& behind, const LateIterations& late, size_t iterations) {
  if (late.count == 0) return true;
  const uint64_t expected = behind.amount.bytes / iterations * late.count;
  return behind.late_bytes > 0 && static_cast<uint64_t>(behind.late_bytes) * 2 >= expected;
}

// True if the call site left blocks behind in three of four quarters of the iterations. A leak may
// need several iterations for each block, for example if only every tenth result is kept.
bool IsSpread(const LeftBehind& behind, size_t iterations) {
  constexpr size_t kParts = 4;
  absl::flat_hash_set<size_t> parts;
  for (const int64_t iteration : behind.iterations) {
    parts.insert(std::min(kParts - 1, static_cast<size_t>(iteration) * kParts / iterations));
  }
  return parts.size() + 1 >= kParts;
}

std::vector<GrowthFacts> GrowingSites(const Detail& detail,
                                      const absl::flat_hash_map<uint32_t, LeftBehind>& left,
                                      const LateIterations& late, size_t iterations) {
  std::vector<GrowthFacts> growing;
  for (const auto& [number, behind] : left) {
    const size_t count = behind.iterations.size();
    // The call site must leave blocks behind in most iterations, or over the whole run. Blocks that
    // were made only in the last iterations may still be freed later.
    if (count < kLeastLeftBehind) continue;
    if (count * 2 < iterations && !IsSpread(behind, iterations)) continue;
    if (!StillGrows(behind, late, iterations)) continue;
    GrowthFacts growth;
    growth.site = detail.sites[number].site;
    growth.operation = detail.sites[number].operation;
    growth.blocks = behind.amount.blocks;
    growth.bytes = behind.amount.bytes;
    growth.iterations = count;
    growth.bytes_per_iteration = behind.amount.bytes / count;
    growing.push_back(std::move(growth));
  }
  std::sort(growing.begin(), growing.end(), [](const GrowthFacts& a, const GrowthFacts& b) {
    return std::tie(b.bytes, a.site, a.operation, a.iterations, a.blocks) <
           std::tie(a.bytes, b.site, b.operation, b.iterations, b.blocks);
  });
  return growing;
}

std::vector<SiteFacts> StartupSites(const Detail& detail, uint64_t first_event) {
  absl::flat_hash_map<uint32_t, SiteFacts> sites;
  for (const Life& life : detail.lives) {
    if (life.birth >= first_event) break;
    if (life.pending || life.death < first_event) continue;
    SiteFacts& site = sites[life.site];
    AddLife(life, &site.at_peak);
    ++site.allocations;
    site.total_bytes += life.size;
  }
  std::vector<SiteFacts> sorted;
  for (auto& [number, site] : sites) {
    site.site = detail.sites[number].site;
    site.operation = detail.sites[number].operation;
    sorted.push_back(std::move(site));
  }
  std::sort(sorted.begin(), sorted.end(), [](const SiteFacts& a, const SiteFacts& b) {
    if (a.total_bytes != b.total_bytes) return a.total_bytes > b.total_bytes;
    return std::tie(a.site, a.operation) < std::tie(b.site, b.operation);
  });
  if (sorted.size() > kMaxStartupSites) sorted.resize(kMaxStartupSites);
  return sorted;
}

}  // namespace

void ExplainLifetimes(const Detail& detail, Facts* facts) {
  const std::vector<IterationFacts>& iterations = facts->iterations.list;
  LifetimeFacts& lifetimes = facts->lifetimes;
  if (iterations.empty()) return;
  lifetimes.known = true;
  const IterationOf iteration_of(iterations);
  const LateIterations late(iterations);
  absl::flat_hash_map<uint32_t, LeftBehind> left;
  for (const Life& life : detail.lives) {
    if (life.pending) continue;
    if (late.Has(life.birth)) left[life.site].late_bytes += static_cast<int64_t>(life.size);
    if (late.Has(life.death)) left[life.site].late_bytes -= static_cast<int64_t>(life.size);
    const int64_t born = iteration_of(life.birth);
    if (born < 0) AddLife(life, &lifetimes.before);
    // Blocks that were freed only at the end of the program had accumulated until then.
    if (born >= 0 && life.death > iterations.back().begin_event &&
        (life.death == kStillLive || life.birth < iterations.back().begin_event)) {
      LeftBehind& behind = left[life.site];
      AddLife(life, &behind.amount);
      behind.iterations.insert(born);
    }
    if (life.death == kStillLive) {
      AddLife(life, &lifetimes.persistent);
    } else if (born == iteration_of(life.death)) {
      AddLife(life, &lifetimes.within);
    } else {
      AddLife(life, &lifetimes.across);
    }
  }
  lifetimes.growing = GrowingSites(detail, left, late, iterations.size());
  const uint64_t first_event = iterations.front().begin_event;
  const uint64_t steps = (first_event - 1) / std::max<uint64_t>(1, detail.events_per_step);
  for (size_t i = 0; i < std::min<size_t>(steps, detail.levels.size()); ++i) {
    lifetimes.startup_peak_bytes =
        std::max(lifetimes.startup_peak_bytes, detail.levels[i].allocated);
  }
  lifetimes.startup = StartupSites(detail, first_event);
}

}  // namespace vramstow
