// What memory is for. Nobody says it: it is read from where a block was allocated, where it was
// freed, and whether it outlived what made it. The evidence is told with each category.
#include <algorithm>
#include <array>

#include "tools/analysis/explain.h"

namespace vramstow {
namespace {

enum Category : uint8_t {
  kParameters,
  kGradients,
  kOptimizerState,
  kActivations,
  kTemporaries,
  kInputs,
  kWorkspaces,
  kCaches,
  kUnknownUse,
  kCategories,
};

constexpr std::array<const char*, kCategories> kNames = {
    "parameters", "gradients",  "optimizer_state", "activations", "temporaries",
    "inputs",     "workspaces", "caches",          "unknown"};

constexpr std::array<const char*, kCategories> kEvidence = {
    "allocated while a model was made or moved, and kept",
    "allocated in the backward pass, and still there when it was over",
    "allocated in an optimizer, and kept",
    "allocated in the forward pass or before the window, and freed in the backward pass",
    "freed in the phase in which it was allocated",
    "allocated where data are loaded",
    "allocated by a math library or by a function that makes workspaces",
    "allocated by a function that makes a cache of keys and values",
    "neither call stack nor lifetime tells"};

Category CategoryOf(const Detail& detail, const Life& life) {
  const SiteDetail& site = detail.sites[life.site];
  const Phase freed = detail.sites[life.free_site].phase;
  const bool kept = life.death == kStillLive;
  switch (site.phase) {
    case Phase::kWorkspace:
      return kWorkspaces;
    case Phase::kCache:
      return kCaches;
    case Phase::kData:
      return kInputs;
    case Phase::kInit:
      return kept ? kParameters : kTemporaries;
    case Phase::kOptimizer:
      return kept ? kOptimizerState : kTemporaries;
    case Phase::kBackward:
      return freed == Phase::kBackward ? kTemporaries : kGradients;
    case Phase::kForward:
      if (freed == Phase::kBackward) return kActivations;
      return kept || freed == Phase::kUnknown ? kUnknownUse : kTemporaries;
    case Phase::kUnknown:
      break;
  }
  // Of a block that was there before, only where it went is known.
  if (freed == Phase::kBackward) return kActivations;
  if (freed == Phase::kOptimizer && life.opened) return kGradients;
  return kUnknownUse;
}

}  // namespace

void FindCategories(const Detail& detail, Facts* facts) {
  if (!facts->by_category.empty() || facts->peak.allocated_bytes == 0) return;
  std::array<Amount, kCategories> amounts = {};
  uint64_t told = 0;
  for (const Life& life : detail.lives) {
    if (life.pending || !life.LivesAt(detail.peak_event)) continue;
    Amount& amount = amounts[CategoryOf(detail, life)];
    amount.bytes += life.size;
    ++amount.blocks;
    told += life.size;
  }
  // Of a long trace the lives that are not kept are the small and short ones.
  if (detail.lives_left_out > 0 && facts->peak.allocated_bytes > told) {
    amounts[kTemporaries].bytes += facts->peak.allocated_bytes - told;
  }
  for (size_t i = 0; i < kCategories; ++i) {
    if (amounts[i].bytes == 0) continue;
    facts->by_category.push_back({kNames[i], amounts[i], kEvidence[i]});
  }
  std::ranges::stable_sort(facts->by_category, [](const auto& a, const auto& b) {
    return a.at_peak.bytes > b.at_peak.bytes;
  });
}

}  // namespace vramstow
