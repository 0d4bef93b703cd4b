// Tests the static packing: its blocks do not overlap, and for few blocks no packing is better.
#include "tools/replay/packing.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <random>
#include <vector>

#include "tools/replay/packing_search.h"

namespace vramstow {
namespace {

using SpanList = std::vector<LifeSpan>;

SpanList RandomLives(size_t count, uint64_t moments, uint64_t most_size, uint64_t seed) {
  std::mt19937_64 random(seed);
  SpanList lives(count);
  for (LifeSpan& life : lives) {
    life.begin = random() % moments;
    life.end = life.begin + 1 + random() % (moments - life.begin);
    life.size = 1 + random() % most_size;
  }
  return lives;
}

bool LiveTogether(const LifeSpan& a, const LifeSpan& b) {
  return a.begin < b.end && b.begin < a.end;
}

void ExpectSound(const SpanList& lives, const Packing& packing) {
  ASSERT_EQ(packing.offsets.size(), lives.size());
  for (size_t a = 0; a < lives.size(); ++a) {
    if (lives[a].begin >= lives[a].end) continue;
    EXPECT_LE(packing.offsets[a] + lives[a].size, packing.bytes);
    for (size_t b = 0; b < a; ++b) {
      if (!LiveTogether(lives[a], lives[b])) continue;
      EXPECT_TRUE(packing.offsets[a] + lives[a].size <= packing.offsets[b] ||
                  packing.offsets[b] + lives[b].size <= packing.offsets[a])
          << a << " and " << b;
    }
  }
}

// Returns the least possible height. Each packing in which no block can move down is found by
// placing the blocks in the order of their offsets, each as low as the earlier ones allow.
uint64_t LeastHeight(const SpanList& lives) {
  std::vector<size_t> order(lives.size());
  std::iota(order.begin(), order.end(), size_t{0});
  uint64_t least = UINT64_MAX;
  do {
    std::vector<uint64_t> offsets(lives.size());
    uint64_t height = 0;
    for (size_t i = 0; i < order.size(); ++i) {
      const size_t block = order[i];
      for (size_t j = 0; j < i; ++j) {
        if (!LiveTogether(lives[block], lives[order[j]])) continue;
        offsets[block] = std::max(offsets[block], offsets[order[j]] + lives[order[j]].size);
      }
      height = std::max(height, offsets[block] + lives[block].size);
    }
    least = std::min(least, height);
  } while (std::ranges::next_permutation(order).found);
  return least;
}

TEST(Packing, OfFewBlocksIsTheBestThereIs) {
  for (uint64_t seed = 1; seed <= 150; ++seed) {
    const SpanList lives = RandomLives(7, 6, 5, seed);
    const Packing packing = PackStatically(lives, {});
    ExpectSound(lives, packing);
    EXPECT_EQ(packing.bytes, LeastHeight(lives)) << "seed " << seed;
  }
}

TEST(Packing, SearchSaysThatNothingFitsBelowTheLeastHeight) {
  for (uint64_t seed = 1; seed <= 50; ++seed) {
    const SpanList lives = RandomLives(7, 6, 5, 1000 + seed);
    const uint64_t least = LeastHeight(lives);
    PackingSearch search(lives);
    for (size_t order = 0; order < kPackingOrders.size(); ++order) {
      uint64_t steps = 1'000'000;
      EXPECT_TRUE(search.Fit(least, order, seed, &steps).has_value()) << "seed " << seed;
      steps = 1'000'000;
      EXPECT_FALSE(search.Fit(least - 1, order, seed, &steps).has_value()) << "seed " << seed;
      EXPECT_GT(steps, 0u);
    }
  }
}

TEST(Packing, OfManyBlocksLiesApartAndStaysWithinItsBudget) {
  for (const size_t count : {60u, 300u, 1500u}) {
    const SpanList lives = RandomLives(count, 80, 4096, count);
    PackingBudget budget;
    budget.search_work = 500'000;
    const Packing packing = PackStatically(lives, budget);
    ExpectSound(lives, packing);
    EXPECT_GE(packing.bytes, MaximumLoad(lives));
  }
}

TEST(Packing, TakesBlocksOfNoSizeAndNoLife) {
  // Three blocks block one another, so that the search is needed. Two other blocks have the size 0.
  const SpanList lives = {{0, 2, 3}, {1, 4, 0}, {1, 3, 1}, {2, 2, 9}, {2, 4, 3}, {3, 5, 2}};
  const Packing packing = PackStatically(lives, {});
  ExpectSound(lives, packing);
  EXPECT_EQ(packing.bytes, MaximumLoad(lives));
  EXPECT_EQ(PackStatically({}, {}).bytes, 0u);
}

}  // namespace
}  // namespace vramstow
