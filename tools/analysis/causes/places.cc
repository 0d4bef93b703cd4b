#include "tools/analysis/causes/places.h"

#include <algorithm>
#include <map>
#include <utility>

#include "tools/analysis/advice_words.h"

namespace vramstow {
namespace {

constexpr double kMost = 0.5;
constexpr size_t kMostPlaces = 3;

}  // namespace

std::string CommonPlace(const Detail& detail, const std::vector<const Life*>& lives,
                        bool stops_at_model) {
  uint64_t all = 0;
  std::vector<const Life*> here;
  for (const Life* life : lives) {
    if (detail.sites[life->site].own.empty()) continue;
    here.push_back(life);
    all += life->size;
  }
  std::string place;
  for (size_t depth = 0; !here.empty(); ++depth) {
    std::map<uint32_t, uint64_t> by_line;
    for (const Life* life : here) {
      const std::vector<CodeLine>& own = detail.sites[life->site].own;
      if (depth < own.size()) by_line[own[depth].text] += life->size;
    }
    const auto most = std::ranges::max_element(
        by_line, [](const auto& a, const auto& b) { return a.second < b.second; });
    if (most == by_line.end()) break;
    if (static_cast<double>(most->second) < kMost * static_cast<double>(all)) break;
    const uint32_t text = most->first;
    if (stops_at_model && detail.lines[text].ends_with("forward")) break;
    place = detail.lines[text];
    std::erase_if(here, [&](const Life* life) {
      const std::vector<CodeLine>& own = detail.sites[life->site].own;
      return depth >= own.size() || own[depth].text != text;
    });
  }
  return place;
}

std::string CommonPlaceOrFirst(const Detail& detail, const std::vector<const Life*>& lives) {
  const std::string place = CommonPlace(detail, lives);
  return place.empty() ? PlaceOf(detail, lives.front()->site) : place;
}

std::string PlaceOf(const Detail& detail, uint32_t site) {
  const SiteDetail& words = detail.sites[site];
  return words.own.empty() ? words.site : detail.lines[words.own.back().text];
}

std::string LargestPlaces(const Detail& detail, const std::vector<const Life*>& lives) {
  std::map<std::string, uint64_t> by_place;
  for (const Life* life : lives) by_place[PlaceOf(detail, life->site)] += life->size;
  std::vector<std::pair<std::string, uint64_t>> sorted(by_place.begin(), by_place.end());
  std::ranges::stable_sort(sorted,
                           [](const auto& a, const auto& b) { return a.second > b.second; });
  std::string text;
  for (size_t i = 0; i < std::min(sorted.size(), kMostPlaces); ++i) {
    text +=
        (text.empty() ? "" : ", ") + sorted[i].first + " (" + AdviceText(sorted[i].second) + ")";
  }
  return text;
}

}  // namespace vramstow
