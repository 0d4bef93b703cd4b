#include "tools/analysis/accounts/live_facts.h"

#include <algorithm>
#include <tuple>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "tools/base/library_name.h"

namespace vramstow {
namespace {

BlockFacts FactsOf(const LiveBlock& block, const EventSource& source) {
  BlockFacts facts;
  facts.address = block.address;
  facts.size = block.size;
  facts.requested = block.requested;
  facts.time_ns = block.time_ns;
  facts.device = block.device;
  facts.memory = block.memory;
  facts.call = source.CallName(block.call);
  facts.library = LibraryName(source.LibraryPath(block.library));
  facts.site_number = block.site;
  return facts;
}

// Blocks with the same site and size.
struct LiveGroup {
  LiveBlock first;  // the oldest block, so that the same trace gives the same text
  uint64_t count = 0;
};

// Moves the `most` largest groups to the front, in descending order.
void PutLargestFirst(std::vector<LiveGroup>* groups, size_t most) {
  std::partial_sort(groups->begin(), groups->begin() + static_cast<ptrdiff_t>(most), groups->end(),
                    [](const LiveGroup& a, const LiveGroup& b) {
                      const uint64_t bytes_a = a.first.size * a.count;
                      const uint64_t bytes_b = b.first.size * b.count;
                      return bytes_a != bytes_b ? bytes_a > bytes_b : a.first.birth < b.first.birth;
                    });
}

}  // namespace

void FillPeakBlocks(const Levels& levels, const ForEachBlock& for_each_live,
                    const EventSource& source, Facts* facts) {
  PeakBlocks largest = levels.peak_blocks();
  for_each_live([&](const LiveBlock& block) {
    if (IsDeviceMemory(block.memory) && block.birth <= levels.peak_event() &&
        !largest.Contains(block.birth)) {
      largest.Offer(block);
    }
  });
  for (const LiveBlock& block : largest.Sorted()) {
    if (facts->largest_at_peak.size() == kMaxBlocksAtPeak) break;
    facts->largest_at_peak.push_back(FactsOf(block, source));
  }
}

void FillLive(const ForEachBlock& for_each_live, const EventSource& source, Facts* facts) {
  using Alike = std::tuple<uint32_t, uint16_t, uint16_t, MemoryKind, int16_t, uint64_t>;
  absl::flat_hash_map<Alike, LiveGroup> groups;
  for_each_live([&](const LiveBlock& block) {
    Amount& amount = IsDeviceMemory(block.memory) ? facts->live.device : facts->live.other;
    amount.bytes += block.size;
    ++amount.blocks;
    LiveGroup& group = groups[Alike(block.site, block.library, block.call, block.memory,
                                    block.device, block.size)];
    if (group.count++ == 0 || block.birth < group.first.birth) group.first = block;
  });
  std::vector<LiveGroup> sorted;
  sorted.reserve(groups.size());
  for (const auto& [key, group] : groups) sorted.push_back(group);
  const size_t most = std::min(sorted.size(), kMaxLiveGroups);
  PutLargestFirst(&sorted, most);
  for (size_t i = 0; i < most; ++i) {
    facts->live.groups.push_back(FactsOf(sorted[i].first, source));
    facts->live.groups.back().count = sorted[i].count;
  }
  facts->live.groups_left_out = sorted.size() - most;
}

}  // namespace vramstow
