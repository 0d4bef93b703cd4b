#include "tools/analysis/advice/first_step.h"

#include <algorithm>
#include <string_view>

namespace vramstow {
namespace {

bool IsCopyToCard(const SiteDetail& site) {
  const std::string_view name = OperatorName(site);
  return name == "_to_copy" || name == "to" || name == "tensor" || name == "cuda";
}

// True if the program moved data to the GPU and has computed nothing else yet.
bool LoadsOnly(const FailureMoment& moment) {
  return std::ranges::any_of(moment.detail().lives, [&](const Life& life) {
    return life.birth < moment.event() && life.tensor && IsCopyToCard(moment.site_of(life));
  });
}

}  // namespace

uint64_t FirstStepOf(const FailureMoment& moment) {
  const Iterations& passes = moment.passes();
  const bool trains =
      passes.by() == Iterations::By::kBackward || passes.by() == Iterations::By::kOptimizer;
  if (trains && !passes.all().empty()) return passes.all().front().begin;
  for (const Life& life : moment.detail().lives) {
    const SiteDetail& site = moment.site_of(life);
    if (!site.module.empty() || site.phase == Phase::kForward) return life.birth;
    if (site.in_backward || site.in_optimizer) return 0;
  }
  return LoadsOnly(moment) ? moment.event() : 0;
}

}  // namespace vramstow
