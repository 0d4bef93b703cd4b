#include "tools/analysis/advice/precision_use.h"

#include <algorithm>
#include <string>

#include "tools/analysis/explain/failure_moment.h"

namespace vramstow {

// Autocast is a context manager, which no call stack shows, but it converts the inputs of modules.
bool UsesLowerPrecision(const Detail& detail) {
  const auto converts = [](const SiteDetail& site) {
    return site.site.starts_with("backward of ToCopy") ||
           (OperatorName(site) == "_to_copy" && !site.module.empty());
  };
  const auto names_it = [](const std::string& frame) {
    return frame.find("autocast") != std::string::npos ||
           frame.find("bfloat16") != std::string::npos || frame.find("half") != std::string::npos;
  };
  return std::ranges::any_of(detail.sites, converts) ||
         std::ranges::any_of(detail.frames, names_it);
}

}  // namespace vramstow
