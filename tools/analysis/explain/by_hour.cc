// Finds the purpose of memory that grows by the hour: the purpose of the blocks that the growing
// call sites hold.
#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include "tools/analysis/explain/explain.h"

namespace vramstow {

void NameGrowthByHour(const Detail& detail, const CategoryFinder& categories, Facts* facts) {
  HourFacts& growth = facts->by_hour;
  using Name = std::pair<std::string, std::string>;
  std::map<Name, std::map<std::string, uint64_t>> held;
  for (const SiteHourFacts& site : growth.by_site) held[{site.site, site.operation}];
  if (held.empty()) return;
  for (const Life& life : detail.lives) {
    if (life.pending || (life.death != kStillLive && !life.LivesAt(detail.peak_event))) continue;
    const SiteDetail& site = detail.sites[life.site];
    const auto known = held.find({site.site, site.operation});
    if (known != held.end()) known->second[categories.NameOf(life)] += life.size;
  }
  std::map<std::string, int64_t> sums;
  for (SiteHourFacts& site : growth.by_site) {
    const auto& by_name = held[{site.site, site.operation}];
    const auto most =
        std::ranges::max_element(by_name, {}, [](const auto& one) { return one.second; });
    if (most != by_name.end()) site.category = most->first;
    sums[site.category.empty() ? "unknown" : site.category] += site.bytes_per_hour;
  }
  for (const auto& [name, bytes] : sums) growth.by_category.push_back({name, bytes});
  std::ranges::stable_sort(growth.by_category, std::ranges::greater(),
                           &CategoryHourFacts::bytes_per_hour);
}

}  // namespace vramstow
