#include "tools/analysis/advice/accumulation.h"

#include <algorithm>
#include <iterator>

#include "tools/analysis/explain/marked_steps.h"

namespace vramstow {

Accumulation::Accumulation(const Detail& detail, const Facts& facts)
    : detail_(detail), steps_(MarkedSteps(detail).all_steps()) {
  for (const Life& life : detail.lives) {
    if (life.tensor && !life.pending && detail.sites[life.site].in_optimizer) {
      steps_.push_back(life.birth);
    }
  }
  if (steps_.empty() && facts.iterations.found_by == "marks") {
    for (const IterationFacts& one : facts.iterations.list) steps_.push_back(one.begin_event);
  }
  std::ranges::sort(steps_);
}

bool Accumulation::IsUsed(const Life& gradient, uint64_t event) const {
  const auto step = std::ranges::upper_bound(steps_, gradient.birth);
  return step != steps_.end() && *step <= event;
}

bool Accumulation::AddsUp(uint64_t event) const {
  const auto next = std::ranges::upper_bound(steps_, event);
  const uint64_t begin = next == steps_.begin() ? 0 : *std::prev(next);
  bool has_forward = false;
  for (auto life = std::ranges::lower_bound(detail_.lives, event, {}, &Life::birth);
       life != detail_.lives.begin() && std::prev(life)->birth > begin;) {
    --life;
    const SiteDetail& site = detail_.sites[life->site];
    if (!life->tensor || life->pending) continue;
    if (site.in_backward && has_forward) return true;
    has_forward |= !site.in_backward && site.phase == Phase::kForward;
  }
  return false;
}

}  // namespace vramstow
