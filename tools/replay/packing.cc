#include "tools/replay/packing.h"

#include <algorithm>
#include <numeric>
#include <optional>

#include "tools/base/progress.h"
#include "tools/replay/free_ranges.h"
#include "tools/replay/packing_search.h"

namespace vramstow {
namespace {

constexpr uint64_t kShortestTry = 1'000;  // in steps

// Returns the births and deaths of blocks in the order of time. At the same moment, deaths come
// before births.
std::vector<std::pair<uint64_t, size_t>> Moments(std::span<const LifeSpan> lives) {
  std::vector<std::pair<uint64_t, size_t>> moments;  // moment × 2 (+ 1 for a birth), block
  moments.reserve(lives.size() * 2);
  for (size_t i = 0; i < lives.size(); ++i) {
    if (lives[i].begin >= lives[i].end) continue;
    moments.push_back({lives[i].begin * 2 + 1, i});
    moments.push_back({lives[i].end * 2, i});
  }
  std::ranges::sort(moments);
  return moments;
}

// Packs the blocks in the order of their births, and each into the smallest free range that is
// large enough. An allocator with one unlimited range, and without rounding, would do the same.
Packing InOrderOfBirth(std::span<const LifeSpan> lives) {
  Packing packing;
  packing.offsets.resize(lives.size());
  FreeRanges free;
  for (const auto& [moment, block] : Moments(lives)) {
    const uint64_t size = lives[block].size;
    uint64_t& offset = packing.offsets[block];
    if (size == 0) continue;
    if (moment % 2 == 0) {
      free.Add(offset, size);
    } else if (const auto run = free.BestFit(size); run) {
      offset = run->address;
      free.Take(*run, size);
    } else {
      // If no free range is large enough, the packing grows. If its last bytes are free, the block
      // begins there.
      offset = packing.bytes;
      if (!free.runs().empty()) {
        const auto& [address, length] = *free.runs().rbegin();
        if (address + length == packing.bytes) {
          offset = address;
          free.Take({address, length}, length);
        }
      }
      packing.bytes = offset + size;
    }
  }
  return packing;
}

// Places the blocks in the given order. Each block gets the lowest offset at which it overlaps none
// of the blocks that were placed before it.
Packing Greedy(std::span<const LifeSpan> lives, std::span<const size_t> order) {
  Packing packing;
  packing.offsets.resize(lives.size());
  std::vector<size_t> placed;  // in the order of their offsets
  for (const size_t block : order) {
    const LifeSpan& life = lives[block];
    uint64_t offset = 0;
    for (const size_t other : placed) {
      if (lives[other].begin >= life.end || lives[other].end <= life.begin) continue;
      if (packing.offsets[other] >= offset + life.size) break;
      offset = std::max(offset, packing.offsets[other] + lives[other].size);
    }
    packing.offsets[block] = offset;
    packing.bytes = std::max(packing.bytes, offset + life.size);
    placed.insert(
        std::ranges::upper_bound(placed, offset, {}, [&](size_t i) { return packing.offsets[i]; }),
        block);
  }
  return packing;
}

template <typename KeyOf>
void TryGreedy(std::span<const LifeSpan> lives, KeyOf key_of, Packing* best) {
  std::vector<size_t> order(lives.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::ranges::stable_sort(order, std::ranges::greater(), key_of);
  Packing packing = Greedy(lives, order);
  if (packing.bytes < best->bytes) *best = std::move(packing);
}

// Searches for packings of a certain height. Mostly the height is the maximum load itself, and
// sometimes a height between it and the best one found so far. The order of the blocks changes
// after a few thousand steps, because one order may need hundreds of steps where another one needs
// millions.
void Search(std::span<const LifeSpan> lives, uint64_t load, const PackingBudget& budget,
            Packing* best) {
  // Blocks of size 0, or without a lifetime, need no memory, so they are not searched.
  std::vector<size_t> searched;
  std::vector<LifeSpan> blocks;
  for (size_t i = 0; i < lives.size(); ++i) {
    if (lives[i].size == 0 || lives[i].begin >= lives[i].end) continue;
    searched.push_back(i);
    blocks.push_back(lives[i]);
  }
  PackingSearch search(blocks);
  Progress::OfProcess().Begin("looking for a static packing");
  uint64_t lowest = load;  // below this nothing fits
  for (uint64_t number = 0; lowest < best->bytes; ++number) {
    if (search.work() >= budget.search_work) break;
    Progress::OfProcess().Reach(static_cast<double>(search.work()) /
                                static_cast<double>(budget.search_work));
    const uint64_t seed = number / kPackingOrders.size();
    const uint64_t rise = seed % 4 == 3 ? (seed / 4) % 7 + 1 : 0;  // eighths of the distance
    const bool wanted = lowest < budget.wanted && budget.wanted < best->bytes && seed % 2 == 0;
    const uint64_t height = wanted ? budget.wanted : lowest + (best->bytes - 1 - lowest) / 8 * rise;
    uint64_t unused = kShortestTry << seed % 3;
    const auto offsets = search.Fit(height, number % kPackingOrders.size(), seed, &unused);
    if (!offsets) {
      if (unused > 0) lowest = height + 1;  // the search was complete
      continue;
    }
    best->bytes = 0;
    for (size_t i = 0; i < blocks.size(); ++i) {
      best->offsets[searched[i]] = (*offsets)[i];
      best->bytes = std::max(best->bytes, (*offsets)[i] + blocks[i].size);
    }
  }
}

}  // namespace

uint64_t MaximumLoad(std::span<const LifeSpan> lives) {
  uint64_t load = 0;
  uint64_t highest = 0;
  for (const auto& [moment, block] : Moments(lives)) {
    if (moment % 2 == 0) {
      load -= lives[block].size;
    } else {
      load += lives[block].size;
    }
    highest = std::max(highest, load);
  }
  return highest;
}

Packing PackStatically(std::span<const LifeSpan> lives, const PackingBudget& budget) {
  const uint64_t load = MaximumLoad(lives);
  Packing best = InOrderOfBirth(lives);
  if (best.bytes == load || lives.size() > budget.most_greedy) return best;
  TryGreedy(
      lives, [&](size_t i) { return lives[i].size; }, &best);
  TryGreedy(
      lives, [&](size_t i) { return lives[i].end - lives[i].begin; }, &best);
  TryGreedy(
      lives,
      [&](size_t i) {
        return static_cast<double>(lives[i].size) *
               static_cast<double>(lives[i].end - lives[i].begin);
      },
      &best);
  if (best.bytes > load && lives.size() <= budget.most_searched) {
    Search(lives, load, budget, &best);
  }
  return best;
}

}  // namespace vramstow
