#include "tools/analysis/advice/parameter_sites.h"

namespace vramstow {

bool MayBeParameter(const SiteDetail& site) {
  return site.module.empty() && !site.own.empty() && !site.in_backward && !site.in_optimizer &&
         site.phase != Phase::kForward && site.phase != Phase::kWorkspace;
}

}  // namespace vramstow
