#include "tools/analysis/explain/bucket_sites.h"

#include <cstdint>
#include <ranges>
#include <string>

namespace vramstow {

bool MakesGradientBuckets(const Detail& detail, const SiteDetail& site) {
  for (const uint32_t frame : std::views::reverse(site.frames)) {
    const std::string& text = detail.frames[frame];
    if (text.find(".py:") == std::string::npos) continue;
    // The innermost Python function decides, because the other functions of DistributedDataParallel
    // allocate other blocks.
    return text.ends_with("DistributedDataParallel._ddp_init_helper") ||
           text.ends_with("DistributedDataParallel._pre_forward");
  }
  return false;
}

}  // namespace vramstow
