#include "tools/analysis/explain/phases_over.h"

#include <algorithm>
#include <iterator>

namespace vramstow {
namespace {

bool IsStage(Phase phase) {
  return phase == Phase::kForward || phase == Phase::kBackward || phase == Phase::kOptimizer ||
         phase == Phase::kData;
}

}  // namespace

PhasesOver::PhasesOver(const Detail& detail) {
  for (const Life& life : detail.lives) {
    const Phase phase = detail.sites[life.site].phase;
    if (life.opened || life.pending || !IsStage(phase)) continue;
    if (phase == Phase::kBackward) backward_.push_back(life.birth);
    if (stages_.empty() || stages_.back().phase != phase) stages_.push_back({life.birth, phase});
  }
}

bool PhasesOver::LivesIntoBackward(const Life& life) const {
  const auto next = std::ranges::upper_bound(backward_, life.birth);
  return next != backward_.end() && *next < life.death;
}

Phase PhasesOver::PhaseAt(uint64_t event) const {
  const auto next = std::ranges::upper_bound(stages_, event, {}, &Stage::since);
  return next == stages_.begin() ? Phase::kUnknown : std::prev(next)->phase;
}

bool PhasesOver::Outlives(const Life& life, Phase phase) const {
  auto next = std::ranges::upper_bound(stages_, life.birth, {}, &Stage::since);
  if (next != stages_.end() && next->phase == phase) ++next;
  return next == stages_.end() ? life.death == kStillLive : next->since < life.death;
}

}  // namespace vramstow
