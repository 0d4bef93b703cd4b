#include "tools/replay/packing_search.h"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <limits>
#include <numeric>
#include <random>

namespace vramstow {
namespace {

constexpr uint64_t kNowhere = std::numeric_limits<uint64_t>::max() / 2;
constexpr double kLeastChance = 0.3;
constexpr uint64_t kPlacement = std::numeric_limits<uint64_t>::max();

// Returns the moments at which most blocks are live, each after births and before the next death. A
// set of blocks that are live at the same time is live at one of these moments.
std::vector<uint64_t> Sections(std::span<const LifeSpan> lives) {
  std::vector<std::pair<uint64_t, bool>> moments;  // deaths before births
  for (const LifeSpan& life : lives) {
    moments.emplace_back(life.begin, true);
    moments.emplace_back(life.end, false);
  }
  std::ranges::sort(moments);
  std::vector<uint64_t> sections;
  for (size_t i = 0; i < moments.size(); ++i) {
    const bool last = i + 1 == moments.size() || !moments[i + 1].second;
    if (moments[i].second && last) sections.push_back(moments[i].first);
  }
  return sections;
}

}  // namespace

PackingSearch::PackingSearch(std::span<const LifeSpan> lives)
    : items_(lives.size()), overlaps_(lives.size()) {
  const std::vector<uint64_t> sections = Sections(lives);
  sections_ = sections.size();
  std::vector<uint64_t> load(sections_);
  for (size_t i = 0; i < lives.size(); ++i) {
    const auto section = [&](uint64_t moment) {
      return static_cast<uint32_t>(std::ranges::lower_bound(sections, moment) - sections.begin());
    };
    Item& item = items_[i];
    item.size = lives[i].size;
    item.length = lives[i].end - lives[i].begin;
    item.first = section(lives[i].begin);
    item.last = section(lives[i].end);
    for (uint32_t s = item.first; s < item.last; ++s) load[s] += item.size;
  }
  for (uint32_t a = 0; a < items_.size(); ++a) {
    for (uint32_t s = items_[a].first; s < items_[a].last; ++s) {
      items_[a].load = std::max(items_[a].load, load[s]);
    }
    for (uint32_t b = 0; b < items_.size(); ++b) {
      if (a != b && items_[a].first < items_[b].last && items_[b].first < items_[a].last) {
        overlaps_[a].push_back(b);
      }
    }
  }
}

void PackingSearch::Rank(size_t order, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<double> weights(items_.size(), 1.0);
  if (seed != 0) {
    const double most = kLeastChance * static_cast<double>(1 + seed % 3);
    for (double& weight : weights) weight += static_cast<double>(random() % 1024) / 1024 * most;
  }
  const auto value = [&](uint32_t i, PackingKey key) {
    const auto length = static_cast<double>(items_[i].length);
    switch (key) {
      case PackingKey::kLoad:
        return static_cast<double>(items_[i].load);
      case PackingKey::kOverlaps:
        return static_cast<double>(overlaps_[i].size()) * weights[i];
      case PackingKey::kArea:
        return static_cast<double>(items_[i].size) * length * weights[i];
      case PackingKey::kLength:
        return length * weights[i];
    }
    return 0.0;
  };
  Items ranked(items_.size());
  std::iota(ranked.begin(), ranked.end(), uint32_t{0});
  std::ranges::stable_sort(ranked, [&](uint32_t a, uint32_t b) {
    for (const PackingKey key : kPackingOrders[order]) {
      const double of_a = value(a, key);
      const double of_b = value(b, key);
      if (of_a != of_b) return of_a > of_b;
    }
    return false;
  });
  for (size_t rank = 0; rank < ranked.size(); ++rank) items_[ranked[rank]].rank = rank;
}

void PackingSearch::RaiseBlocked(const Items& items) {
  for (bool changed = true; changed;) {
    changed = false;
    for (const uint32_t i : items) {
      if (!blocked_[i]) continue;
      for (const uint32_t other : overlaps_[i]) {
        if (placed_[other]) continue;
        const uint64_t top = lowest_[other] + items_[other].size;
        if (top >= lowest_[i]) continue;
        lowest_[i] = top;
        changed = true;
      }
    }
  }
}

bool PackingSearch::CanStillFit(const Items& items) {
  work_ += items.size();
  uint64_t next = kNowhere;     // where the next item will lie
  uint64_t ceiling = kNowhere;  // from here on an item would leave a gap in which another fits
  bool any_blocked = false;
  for (const uint32_t i : items) {
    lowest_[i] = blocked_[i] ? kNowhere : floor_[i];
    any_blocked |= blocked_[i] != 0;
    next = std::min(next, lowest_[i]);
    ceiling = std::min(ceiling, floor_[i] + items_[i].size);
  }
  if (next >= ceiling) return false;
  if (any_blocked) RaiseBlocked(items);
  order_.clear();
  uint32_t end = 0;
  for (const uint32_t i : items) {
    order_.emplace_back(lowest_[i], i);
    end = std::max(end, items_[i].last);
  }
  std::ranges::sort(order_);
  // Computes a lower bound for each section. The remaining blocks of a section are stacked in the
  // order of their lowest possible offsets, which gives the lowest stack. The items are in the
  // order of their first sections.
  std::fill(tops_.begin() + items_[items.front()].first, tops_.begin() + end, 0);
  for (const auto& [offset, i] : order_) {
    if (offset + items_[i].size > height_) return false;
    for (uint32_t s = items_[i].first; s < items_[i].last; ++s) {
      tops_[s] = std::max(tops_[s], offset) + items_[i].size;
      if (tops_[s] > height_) return false;
    }
  }
  return true;
}

bool PackingSearch::SolveParts(const Items& items) {
  std::vector<Items> parts;
  for (size_t from = 0; from < items.size();) {
    uint32_t end = items_[items[from]].last;
    size_t to = from + 1;
    while (to < items.size() && items_[items[to]].first < end) {
      end = std::max(end, items_[items[to++]].last);
    }
    parts.emplace_back(items.begin() + static_cast<std::ptrdiff_t>(from),
                       items.begin() + static_cast<std::ptrdiff_t>(to));
    from = to;
  }
  if (parts.size() > 1) {
    // First checks whether each part can fit, so that no part is solved in vain. Small parts are
    // solved first.
    const auto fits = [&](const Items& part) { return CanStillFit(part); };
    if (!std::ranges::all_of(parts, fits)) return false;
    std::ranges::stable_sort(parts, {}, &Items::size);
  }
  return std::ranges::all_of(parts, [&](const Items& part) { return SolvePart(part); });
}

bool PackingSearch::SolvePart(const Items& items) {
  const size_t mark = trail_.size();
  Items rest;
  while (steps_left_ > 0) {
    --steps_left_;
    if (!CanStillFit(items)) break;
    auto next = static_cast<uint32_t>(items_.size());
    for (const uint32_t i : items) {
      if (blocked_[i]) continue;
      if (next == items_.size() ||
          std::pair(floor_[i], items_[i].rank) < std::pair(floor_[next], items_[next].rank)) {
        next = i;
      }
    }
    const size_t before = trail_.size();
    Place(next);
    rest.clear();
    std::ranges::copy_if(items, std::back_inserter(rest), [&](uint32_t i) { return i != next; });
    if (SolveParts(rest)) return true;
    Undo(before);
    Block(next);
  }
  Undo(mark);
  return false;
}

void PackingSearch::Place(uint32_t item) {
  const uint64_t top = floor_[item] + items_[item].size;
  trail_.push_back({item, false, kPlacement});
  placed_[item] = 1;
  offsets_[item] = floor_[item];
  for (const uint32_t other : overlaps_[item]) {
    if (placed_[other] || floor_[other] >= top) continue;
    trail_.push_back({other, blocked_[other] != 0, floor_[other]});
    floor_[other] = top;
    blocked_[other] = 0;
  }
}

void PackingSearch::Block(uint32_t item) {
  trail_.push_back({item, blocked_[item] != 0, floor_[item]});
  blocked_[item] = 1;
}

void PackingSearch::Undo(size_t mark) {
  while (trail_.size() > mark) {
    const Change change = trail_.back();
    trail_.pop_back();
    if (change.floor == kPlacement) {
      placed_[change.item] = 0;
    } else {
      floor_[change.item] = change.floor;
      blocked_[change.item] = change.blocked ? 1 : 0;
    }
  }
}

std::optional<std::vector<uint64_t>> PackingSearch::Fit(uint64_t height, size_t order,
                                                        uint64_t seed, uint64_t* steps) {
  Rank(order, seed);
  height_ = height;
  steps_left_ = *steps;
  placed_.assign(items_.size(), 0);
  blocked_.assign(items_.size(), 0);
  floor_.assign(items_.size(), 0);
  lowest_.assign(items_.size(), 0);
  offsets_.assign(items_.size(), 0);
  tops_.assign(sections_, 0);
  trail_.clear();
  Items all(items_.size());
  std::iota(all.begin(), all.end(), uint32_t{0});
  std::ranges::sort(all, {}, [&](uint32_t i) { return std::pair(items_[i].first, i); });
  const bool found = SolveParts(all);
  *steps = steps_left_;
  if (!found) return std::nullopt;
  return offsets_;
}

}  // namespace vramstow
