// Tests the alignment of two sequences: the matches are as many as dynamic programming finds, and
// always in order.
#include "tools/analysis/fidelity/align.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <ctime>
#include <numeric>
#include <random>
#include <vector>

namespace vramstow {
namespace {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr int kSlowdown = 10;
#else
constexpr int kSlowdown = 1;
#endif

using Sequence = std::vector<uint64_t>;

// Computes the length of a longest common subsequence by the textbook algorithm.
size_t LongestOf(const Sequence& a, const Sequence& b) {
  std::vector<size_t> row(b.size() + 1, 0);
  for (const uint64_t value : a) {
    size_t diagonal = 0;
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t above = row[j];
      row[j] = value == b[j - 1] ? diagonal + 1 : std::max(row[j], row[j - 1]);
      diagonal = above;
    }
  }
  return row.back();
}

void ExpectRight(const Sequence& a, const Sequence& b, const Alignment& alignment) {
  size_t matched = 0;
  size_t left = 0;
  size_t right = 0;
  for (const EqualRun& run : alignment.runs) {
    ASSERT_GT(run.length, 0u);
    ASSERT_GE(run.left_begin, left);
    ASSERT_GE(run.right_begin, right);
    ASSERT_LE(run.left_begin + run.length, a.size());
    ASSERT_LE(run.right_begin + run.length, b.size());
    for (size_t i = 0; i < run.length; ++i) {
      ASSERT_EQ(a[run.left_begin + i], b[run.right_begin + i]);
    }
    matched += run.length;
    left = run.left_begin + run.length;
    right = run.right_begin + run.length;
  }
  EXPECT_EQ(matched, alignment.matched);
}

Sequence Random(std::mt19937_64& random, size_t most, uint64_t letters) {
  Sequence sequence(random() % (most + 1));
  for (uint64_t& value : sequence) value = random() % letters;
  return sequence;
}

TEST(AlignTest, NothingIsLongerThanWhatItFinds) {
  std::mt19937_64 random(1);
  for (int i = 0; i < 20000; ++i) {
    const uint64_t letters = 1 + random() % 6;
    const Sequence a = Random(random, 24, letters);
    const Sequence b = Random(random, 24, letters);
    const Alignment alignment = Align(a, b);
    ExpectRight(a, b, alignment);
    ASSERT_EQ(LongestOf(a, b), alignment.matched) << i;
    ASSERT_TRUE(alignment.is_longest);
  }
}

TEST(AlignTest, WhatIsEqualIsOneRun) {
  Sequence a(1000);
  std::iota(a.begin(), a.end(), 0);
  EXPECT_EQ((std::vector<EqualRun>{{0, 0, 1000}}), Align(a, a).runs);
  const Sequence b(a.begin() + 100, a.begin() + 600);
  EXPECT_EQ((std::vector<EqualRun>{{100, 0, 500}}), Align(a, b).runs);
  EXPECT_TRUE(Align(a, {}).runs.empty());
  EXPECT_TRUE(Align({}, {}).runs.empty());
}

TEST(AlignTest, WhatCostsTooMuchIsLeftOutAndTheRestIsRight) {
  std::mt19937_64 random(2);
  Sequence a(20000);
  for (uint64_t& value : a) value = random();
  Sequence b = a;
  for (size_t i = 5000; i < 15000; ++i) b[i] = random();
  const Alignment alignment = Align(a, b, 1'000'000);
  ExpectRight(a, b, alignment);
  EXPECT_FALSE(alignment.is_longest);
  EXPECT_GE(alignment.matched, 10000u);
}

TEST(AlignTest, LongSequencesThatAreNearlyAlikeCostLittle) {
  std::mt19937_64 random(3);
  Sequence a(200'000);
  for (uint64_t& value : a) value = random() % 40;
  Sequence b = a;
  for (int i = 0; i < 200; ++i) b.erase(b.begin() + static_cast<ptrdiff_t>(random() % b.size()));
  const Alignment alignment = Align(a, b, 20'000'000);
  ExpectRight(a, b, alignment);
  EXPECT_TRUE(alignment.is_longest);
  EXPECT_EQ(b.size(), alignment.matched);
}

TEST(AlignTest, WhatIsAlignedGreedilyIsMostOfWhatIsAlike) {
  // Throughout the sequence, a tenth of the items is changed, left out or added. A complete
  // comparison costs far more steps than are allowed.
  std::mt19937_64 random(6);
  Sequence a(60'000);
  for (uint64_t& value : a) value = random() % 40;
  Sequence b;
  for (const uint64_t value : a) {
    if (random() % 10 != 0) {
      b.push_back(value);
    } else if (random() % 2 == 0) {
      b.insert(b.end(), {1000 + random() % 40, 2000});
    }
  }
  const Alignment alignment = Align(a, b, 100'000);
  ExpectRight(a, b, alignment);
  EXPECT_FALSE(alignment.is_longest);
  EXPECT_GE(alignment.matched, a.size() * 8 / 10);
}

TEST(NarrowWindowTest, SequencesThatDifferMuchCostLittle) {
  // Both sequences consist of layers of several steps. In the second sequence a third of the items
  // are changed.
  std::mt19937_64 random(7);
  Sequence layer(200);
  for (uint64_t& value : layer) value = random() % 80;
  Sequence a;
  Sequence b;
  for (int i = 0; i < 480; ++i) a.insert(a.end(), layer.begin(), layer.end());
  for (int i = 0; i < 1440; ++i) {
    for (const uint64_t value : layer)
      b.push_back(random() % 3 == 0 ? 100 + random() % 900 : value);
  }
  const std::clock_t begin = std::clock();
  const SequenceWindow window = NarrowWindow(a, b, FindWindow(a, b));
  const Alignment alignment =
      Align(a, std::span(b).subspan(window.begin, window.end - window.begin));
  // The alignment takes some seconds of processor time. It took a minute before the number of
  // judged windows was limited.
  EXPECT_LT(std::clock() - begin, std::clock_t{15 * kSlowdown} * CLOCKS_PER_SEC);
  EXPECT_GE(alignment.matched, a.size() * 3 / 10);
}

TEST(FindWindowTest, APartIsFoundWhereItLies) {
  std::mt19937_64 random(4);
  // The steps of a training are equal, except for the first one.
  Sequence step(700);
  for (uint64_t& value : step) value = random() % 30;
  Sequence all = Random(random, 3000, 30);
  const size_t begin = all.size();
  for (int i = 0; i < 5; ++i) all.insert(all.end(), step.begin(), step.end());
  const size_t end = all.size();
  all.insert(all.end(), 500, 7);
  Sequence part(all.begin() + static_cast<ptrdiff_t>(begin),
                all.begin() + static_cast<ptrdiff_t>(end));
  part.erase(part.begin() + 900, part.begin() + 905);
  const SequenceWindow window = FindWindow(part, all);
  EXPECT_LE(window.begin, begin);
  EXPECT_GE(window.end, end);
  EXPECT_LE(window.end - window.begin, part.size() + 1500);
}

TEST(NarrowWindowTest, OfPassesThatAreAlikeTheOneThatWasRecordedIsTaken) {
  // A forward or backward pass consists of 12 equal layers between a distinct beginning and a
  // distinct end. In the simulated run each layer has additional items.
  std::mt19937_64 random(5);
  Sequence layer(100);
  for (uint64_t& value : layer) value = random() % 20;
  Sequence card = {1000, 1001, 1002};
  Sequence pass = card;
  for (int i = 0; i < 12; ++i) {
    card.insert(card.end(), layer.begin(), layer.end());
    for (size_t j = 0; j < layer.size(); ++j) {
      pass.push_back(layer[j]);
      if (j % 10 == 0) pass.insert(pass.end(), {77, 78});
    }
  }
  card.push_back(1003);
  pass.push_back(1003);
  Sequence all(400, 5);
  const size_t begin = all.size() + pass.size();
  all.insert(all.end(), pass.begin(), pass.end());
  all.insert(all.end(), pass.begin(), pass.end());
  all.insert(all.end(), 100, 6);
  const SequenceWindow window = NarrowWindow(card, all, FindWindow(card, all));
  EXPECT_EQ(begin, window.begin);
  EXPECT_EQ(begin + pass.size(), window.end);
  const Alignment alignment =
      Align(card, std::span(all).subspan(window.begin, window.end - window.begin));
  EXPECT_EQ(card.size(), alignment.matched);
}

TEST(FindWindowTest, WhatStandsThereWholeIsFoundWhereItStandsLast) {
  // The simulated run contains the same sequence of allocations twice, and the GPU's recording
  // equals both. The last one must be found.
  std::vector<uint64_t> pass;
  for (uint64_t i = 0; i < 300; ++i) pass.push_back(i % 7);
  std::vector<uint64_t> all = {50, 51};
  all.insert(all.end(), pass.begin(), pass.end());
  all.insert(all.end(), pass.begin(), pass.end());
  all.push_back(52);
  const std::optional<SequenceWindow> whole = FindWhole(pass, all);
  ASSERT_TRUE(whole.has_value());
  EXPECT_EQ(302u, whole->begin);
  EXPECT_EQ(602u, whole->end);
  EXPECT_FALSE(FindWhole({}, all).has_value());
  EXPECT_FALSE(FindWhole(all, pass).has_value());
  pass[150] = 99;
  EXPECT_FALSE(FindWhole(pass, all).has_value());
}

TEST(FindWindowTest, WhereNothingPointsToAPlaceAllOfItCounts) {
  const Sequence a(100, 1);
  const Sequence b(200, 2);
  const SequenceWindow window = FindWindow(a, b);
  EXPECT_EQ(0u, window.begin);
  EXPECT_EQ(200u, window.end);
  EXPECT_EQ(200u, FindWindow({}, b).end);
}

}  // namespace
}  // namespace vramstow
