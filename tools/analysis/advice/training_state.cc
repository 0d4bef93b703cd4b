#include "tools/analysis/advice/training_state.h"

#include <string>
#include <string_view>
#include <vector>

#include "tools/analysis/advice/places.h"

namespace vramstow {

bool IsForeach(const SiteDetail& site) {
  const std::string_view name = OperatorName(site);
  return name.starts_with("_foreach") || name.starts_with("foreach_");
}

std::vector<const Life*> Gradients(const FailureMoment& moment) {
  std::vector<const Life*> gradients;
  for (const Life* life : moment.live()) {
    const SiteDetail& site = moment.site_of(*life);
    if (life->tensor && site.in_backward && site.phase == Phase::kBackward) {
      gradients.push_back(life);
    }
  }
  return gradients;
}

std::vector<const Life*> OfOptimizer(const FailureMoment& moment, bool temporaries) {
  std::vector<const Life*> lives;
  for (const Life* life : moment.live()) {
    const SiteDetail& site = moment.site_of(*life);
    // The state of an optimizer may come from a file, so its call site need not be in an optimizer.
    const HeldBlock* block = moment.holders().Of(*life);
    const bool is_state = block != nullptr && block->role == "optimizer_state";
    const bool is_made = site.in_optimizer && IsForeach(site) == temporaries;
    const bool is_one = temporaries ? is_made && !is_state : is_made || is_state;
    if (life->tensor && is_one) lives.push_back(life);
  }
  return lives;
}

bool AreSharded(const FailureMoment& moment, const std::vector<const Life*>& lives) {
  uint64_t all = 0;
  uint64_t parts = 0;
  for (const Life* life : lives) {
    const HeldBlock* block = moment.holders().Of(*life);
    all += life->size;
    if (block != nullptr && block->holder.ends_with("._local_tensor")) parts += life->size;
  }
  return parts * 2 > all;
}

std::string PlaceOfStep(const FailureMoment& moment, const std::vector<const Life*>& lives) {
  if (moment.request_site().in_optimizer) {
    return PlaceOfRequest(moment);
  }
  return CommonPlace(moment.detail(), lives);
}

}  // namespace vramstow
