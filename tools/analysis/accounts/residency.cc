#include "tools/analysis/accounts/residency.h"

#include <algorithm>
#include <tuple>

#include "base/typed_event.h"

namespace vramstow {

void Residency::Add(const Event& event, uint64_t now, uint64_t now_ns) {
  const MoveEvent move = MoveEvent::Of(event);
  facts_.gate_ns += move.gate_ns;
  facts_.longest_gate_ns = std::max(facts_.longest_gate_ns, move.gate_ns);
  End(move.address, move.bytes, now, now_ns);
  if (move.is_return) {
    facts_.returned_bytes += move.bytes;
    return;
  }
  if (move.reason != OffloadReason::kDiscarded) facts_.out_bytes += move.bytes;
  facts_.by_reason[static_cast<size_t>(move.reason)] += move.bytes;
  away_bytes_ += move.bytes;
  facts_.most_bytes = std::max(facts_.most_bytes, away_bytes_);
  Life life;
  life.address = event.address;
  life.size = event.size;
  life.birth = now;
  life.birth_ns = now_ns;
  life.device = event.device;
  away_.emplace(event.address, life);
}

void Residency::Keep(Life life) {
  if (over_.size() < kMax) {
    over_.push_back(life);
  } else {
    ++facts_.left_out;
  }
}

void Residency::End(uint64_t address, uint64_t size, uint64_t now, uint64_t now_ns) {
  if (away_.empty() || size == 0) return;
  const uint64_t to = address + size;
  auto run = away_.upper_bound(address);
  if (run != away_.begin()) --run;
  while (run != away_.end() && run->first < to) {
    const Life whole = run->second;
    const uint64_t end = whole.address + whole.size;
    if (end <= address) {
      ++run;
      continue;
    }
    run = away_.erase(run);
    Life part = whole;
    part.address = std::max(whole.address, address);
    part.size = std::min(end, to) - part.address;
    part.death = now;
    part.death_ns = now_ns;
    away_bytes_ -= part.size;
    Keep(part);
    // The pages before and after the range stay on the host.
    if (whole.address < address) {
      Life before = whole;
      before.size = address - whole.address;
      away_.emplace(before.address, before);
    }
    if (end > to) {
      Life after = whole;
      after.address = to;
      after.size = end - to;
      away_.emplace(after.address, after);
      break;
    }
  }
}

std::vector<Life> Residency::Take() {
  for (const auto& [address, life] : away_) Keep(life);
  away_.clear();
  std::sort(over_.begin(), over_.end(), [](const Life& a, const Life& b) {
    return std::tie(a.birth, a.address) < std::tie(b.birth, b.address);
  });
  return std::move(over_);
}

std::vector<OffloadSite> FindOffloadSites(const std::vector<Life>& away,
                                          const std::vector<Life>& blocks) {
  // Adds and removes blocks in the order of events. Each time memory is moved to the host, its
  // owners are found among the blocks that are live at that moment.
  std::vector<const Life*> deaths;
  deaths.reserve(blocks.size());
  for (const Life& block : blocks) {
    if (!block.pending) deaths.push_back(&block);
  }
  std::sort(deaths.begin(), deaths.end(),
            [](const Life* a, const Life* b) { return a->death < b->death; });
  std::map<uint64_t, const Life*> there;
  std::map<uint32_t, OffloadSite> sites;
  size_t born = 0;
  size_t dead = 0;
  for (const Life& move : away) {
    for (; born < blocks.size() && blocks[born].birth <= move.birth; ++born) {
      if (!blocks[born].pending) there[blocks[born].address] = &blocks[born];
    }
    for (; dead < deaths.size() && deaths[dead]->death <= move.birth; ++dead) {
      const auto found = there.find(deaths[dead]->address);
      if (found != there.end() && found->second == deaths[dead]) there.erase(found);
    }
    auto block = there.upper_bound(move.address);
    if (block != there.begin()) --block;
    for (; block != there.end() && block->first < move.address + move.size; ++block) {
      const uint64_t from = std::max(block->first, move.address);
      const uint64_t to = std::min(block->first + block->second->size, move.address + move.size);
      if (to <= from) continue;
      OffloadSite& site = sites[block->second->site];
      site.number = block->second->site;
      site.bytes += to - from;
    }
  }
  std::vector<OffloadSite> sorted;
  for (const auto& [number, site] : sites) sorted.push_back(site);
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const OffloadSite& a, const OffloadSite& b) { return a.bytes > b.bytes; });
  if (sorted.size() > kMaxOffloadSites) sorted.resize(kMaxOffloadSites);
  return sorted;
}

}  // namespace vramstow
