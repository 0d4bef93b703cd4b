#include "tools/replay/packing_search.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <numeric>
#include <utility>

namespace vramstow {
namespace {

constexpr uint64_t kPlacement = std::numeric_limits<uint64_t>::max();

}  // namespace

PackingSearch::PackingSearch(std::span<const LifeSpan> lives)
    : items_(lives.size()), overlaps_(lives.size()) {
  std::vector<uint64_t> moments;
  for (const LifeSpan& life : lives) moments.push_back(life.begin);
  std::ranges::sort(moments);
  moments.erase(std::unique(moments.begin(), moments.end()), moments.end());
  load_.assign(moments.size(), 0);
  for (size_t i = 0; i < lives.size(); ++i) {
    const auto section = [&](uint64_t moment) {
      return static_cast<uint32_t>(std::ranges::lower_bound(moments, moment) - moments.begin());
    };
    items_[i] = {lives[i].size, section(lives[i].begin), section(lives[i].end), 0};
    for (uint32_t s = items_[i].first; s < items_[i].last; ++s) load_[s] += lives[i].size;
  }
  for (uint32_t a = 0; a < items_.size(); ++a) {
    for (uint32_t b = 0; b < items_.size(); ++b) {
      if (a != b && items_[a].first < items_[b].last && items_[b].first < items_[a].last) {
        overlaps_[a].push_back(b);
      }
    }
  }
}

void PackingSearch::Rank(PackingOrder order, uint64_t seed) {
  for (Item& item : items_) {
    const uint64_t length = item.last - item.first;
    uint64_t highest = 0;
    for (uint32_t s = item.first; s < item.last; ++s) highest = std::max(highest, load_[s]);
    switch (order) {
      case PackingOrder::kArea:
        item.rank = item.size * length;
        break;
      case PackingOrder::kSize:
        item.rank = item.size;
        break;
      case PackingOrder::kLength:
        item.rank = length << 40 | std::min<uint64_t>(item.size, (uint64_t{1} << 40) - 1);
        break;
      case PackingOrder::kLoad:
        item.rank = highest;
        break;
    }
    if (seed == 0) continue;
    // Up to a quarter more or less; a linear congruential generator is random enough.
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    item.rank = item.rank / 4 * (3 + (seed >> 63)) + (seed >> 33) % (item.rank / 4 + 1);
  }
}

bool PackingSearch::CanStillFit(const Items& items, uint64_t lowest) {
  // The items are in the order of their first sections.
  uint32_t end = 0;
  for (const uint32_t i : items) end = std::max(end, items_[i].last);
  const uint32_t begin = items_[items.front()].first;
  std::fill(section_floor_.begin() + begin, section_floor_.begin() + end,
            std::numeric_limits<uint64_t>::max());
  for (const uint32_t i : items) {
    const uint64_t floor = std::max(floor_[i], lowest);
    if (floor + items_[i].size > height_) return false;
    uint64_t* floors = section_floor_.data();
    for (uint32_t s = items_[i].first; s < items_[i].last; ++s) {
      floors[s] = std::min(floors[s], floor);
    }
  }
  for (uint32_t s = begin; s < end; ++s) {
    if (remaining_[s] != 0 && section_floor_[s] + remaining_[s] > height_) return false;
  }
  return true;
}

bool PackingSearch::SolveParts(Items items, uint64_t lowest) {
  if (items.empty()) return true;
  const size_t mark = trail_.size();
  size_t from = 0;
  while (from < items.size()) {
    uint32_t end = items_[items[from]].last;
    size_t to = from + 1;
    while (to < items.size() && items_[items[to]].first < end) {
      end = std::max(end, items_[items[to++]].last);
    }
    if (!SolvePart(Items(items.begin() + static_cast<std::ptrdiff_t>(from),
                         items.begin() + static_cast<std::ptrdiff_t>(to)),
                   lowest)) {
      Undo(mark);
      return false;
    }
    from = to;
  }
  return true;
}

bool PackingSearch::SolvePart(const Items& items, uint64_t lowest) {
  if (steps_left_ == 0) return false;
  --steps_left_;
  if (!CanStillFit(items, lowest)) return false;
  // A block above the end of another that could lie below it leaves a gap for nothing.
  uint64_t ceiling = std::numeric_limits<uint64_t>::max();
  for (const uint32_t i : items) {
    ceiling = std::min(ceiling, std::max(floor_[i], lowest) + items_[i].size);
  }
  Items candidates;
  for (const uint32_t i : items) {
    if (std::max(floor_[i], lowest) < ceiling) candidates.push_back(i);
  }
  std::ranges::sort(candidates, [&](uint32_t a, uint32_t b) {
    const uint64_t low_a = std::max(floor_[a], lowest);
    const uint64_t low_b = std::max(floor_[b], lowest);
    if (low_a != low_b) return low_a < low_b;
    if (items_[a].rank != items_[b].rank) return items_[a].rank > items_[b].rank;
    return a < b;
  });
  Items rest;
  for (const uint32_t item : candidates) {
    const uint64_t offset = std::max(floor_[item], lowest);
    const size_t mark = trail_.size();
    Place(item, offset);
    rest.clear();
    std::ranges::copy_if(items, std::back_inserter(rest), [&](uint32_t i) { return i != item; });
    if (SolveParts(rest, offset)) return true;
    Undo(mark);
    if (steps_left_ == 0) return false;
  }
  return false;
}

void PackingSearch::Place(uint32_t item, uint64_t offset) {
  const uint64_t top = offset + items_[item].size;
  trail_.push_back({item, kPlacement});
  placed_[item] = 1;
  offsets_[item] = offset;
  for (uint32_t s = items_[item].first; s < items_[item].last; ++s) {
    remaining_[s] -= items_[item].size;
  }
  for (const uint32_t other : overlaps_[item]) {
    if (placed_[other] || floor_[other] >= top) continue;
    trail_.push_back({other, floor_[other]});
    floor_[other] = top;
  }
}

void PackingSearch::Undo(size_t mark) {
  while (trail_.size() > mark) {
    const Change change = trail_.back();
    trail_.pop_back();
    const Item& item = items_[change.item];
    if (change.floor != kPlacement) {
      floor_[change.item] = change.floor;
      continue;
    }
    placed_[change.item] = 0;
    for (uint32_t s = item.first; s < item.last; ++s) remaining_[s] += item.size;
  }
}

std::optional<std::vector<uint64_t>> PackingSearch::Fit(uint64_t height, PackingOrder order,
                                                        uint64_t seed, uint64_t* steps) {
  Rank(order, seed);
  height_ = height;
  steps_left_ = *steps;
  placed_.assign(items_.size(), 0);
  floor_.assign(items_.size(), 0);
  offsets_.assign(items_.size(), 0);
  remaining_ = load_;
  section_floor_.assign(load_.size(), 0);
  trail_.clear();
  Items all(items_.size());
  std::iota(all.begin(), all.end(), uint32_t{0});
  std::ranges::sort(all, {}, [&](uint32_t i) { return std::pair(items_[i].first, i); });
  const bool found = SolveParts(std::move(all), 0);
  *steps = steps_left_;
  if (!found) return std::nullopt;
  return offsets_;
}

}  // namespace vramstow
