#include "bench/mesh_bound.h"

#include <algorithm>
#include <vector>

namespace vramstow {
namespace {

constexpr uint64_t kUnit = 512;  // blocks begin and end at multiples of it
constexpr size_t kMaxOfGroup = 6;

struct Group {
  std::vector<bool> used;  // one bit for each unit
  uint64_t count = 0;      // how many of these are used
  size_t pages = 1;
};

bool Overlap(const Group& a, const Group& b) {
  for (size_t i = 0; i < a.used.size(); ++i) {
    if (a.used[i] && b.used[i]) return true;
  }
  return false;
}

// Puts each page into the first group that has room for it.
uint64_t ChunksFor(const std::vector<Group>& pages, size_t most) {
  uint64_t full = 0;
  std::vector<Group> groups;
  for (const Group& page : pages) {
    const uint64_t units = page.used.size();
    if (page.count == units) {
      ++full;
      continue;
    }
    const auto fits = std::ranges::find_if(groups, [&](const Group& group) {
      return group.pages < most && group.count + page.count <= units && !Overlap(group, page);
    });
    if (fits == groups.end()) {
      groups.push_back(page);
      continue;
    }
    for (size_t i = 0; i < units; ++i) fits->used[i] = fits->used[i] || page.used[i];
    fits->count += page.count;
    ++fits->pages;
  }
  return full + groups.size();
}

}  // namespace

MeshCounts MeshBound::Look() const {
  const uint64_t units = page_bytes_ / kUnit;
  std::map<uint64_t, Group> by_page;
  for (const auto& [address, size] : live_) {
    for (uint64_t at = address / kUnit; at * kUnit < address + size; ++at) {
      Group& page = by_page[at / units];
      page.used.resize(units);
      if (!page.used[at % units]) ++page.count;
      page.used[at % units] = true;
    }
  }
  std::vector<Group> pages;
  std::vector<uint64_t> users(units);
  for (const auto& [number, page] : by_page) {
    pages.push_back(page);
    for (size_t i = 0; i < units; ++i) users[i] += page.used[i] ? 1 : 0;
  }
  std::ranges::stable_sort(pages, [](const Group& a, const Group& b) { return a.count > b.count; });
  return {pages.size(), ChunksFor(pages, 2), ChunksFor(pages, kMaxOfGroup),
          users.empty() ? 0 : *std::ranges::max_element(users)};
}

}  // namespace vramstow
