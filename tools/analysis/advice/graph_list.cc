#include "tools/analysis/advice/graph_list.h"

#include <algorithm>
#include <set>

#include "tools/analysis/advice/leftover_blocks.h"

namespace vramstow {
namespace {

void KeepRepeated(GraphList* list) {
  std::map<uint32_t, size_t> items_of;  // by site
  for (const auto& [item, lives] : list->by_item) {
    std::set<uint32_t> sites;
    for (const Life* life : lives) sites.insert(life->site);
    for (const uint32_t site : sites) ++items_of[site];
  }
  for (auto& [item, lives] : list->by_item) {
    std::erase_if(lives, [&](const Life* life) { return items_of[life->site] < kLeastPasses; });
  }
  std::erase_if(list->by_item, [](const auto& one) { return one.second.empty(); });
}

}  // namespace

std::vector<const Life*> GraphList::All() const {
  std::vector<const Life*> all;
  for (const auto& [item, lives] : by_item) all.insert(all.end(), lives.begin(), lives.end());
  std::ranges::sort(all, {}, &Life::birth);
  return all;
}

GraphList LargestGraphList(const FailureMoment& moment) {
  std::map<std::string, GraphList> lists;
  std::map<std::string, uint64_t> bytes;
  for (const Life* life : moment.live()) {
    const HeldBlock* block = moment.holders().Of(*life);
    if (block == nullptr || !MayPileUp(moment, *life)) continue;
    const std::string root = block->holder.substr(0, block->holder.find(".grad_fn"));
    const size_t begin = root.find('[');
    if (root.size() == block->holder.size() || begin == std::string::npos) continue;
    const std::string name = root.substr(0, begin);
    if (name.find("forward: ") != std::string::npos) continue;
    GraphList& list = lists[name];
    list.name = name;
    list.by_item[root.substr(begin, root.find(']', begin) - begin)].push_back(life);
    bytes[name] += life->size;
  }
  if (lists.empty()) return {};
  GraphList largest = lists.at(
      std::ranges::max_element(bytes, {}, [](const auto& one) { return one.second; })->first);
  KeepRepeated(&largest);
  return largest;
}

bool IsOfOneModel(const FailureMoment& moment, const GraphList& list) {
  const auto parameters = std::ranges::count_if(moment.live(), [&](const Life* life) {
    const HeldBlock* block = moment.holders().Of(*life);
    return block != nullptr && block->role == "parameter";
  });
  return parameters > 0 && list.by_item.size() > static_cast<size_t>(parameters);
}

}  // namespace vramstow
