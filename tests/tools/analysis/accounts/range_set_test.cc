#include "tools/analysis/accounts/range_set.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace vramstow {
namespace {

constexpr uint64_t kSpace = 600;

// A simple form of RangeSet that has a flag for each address. A range ends before an address that
// belongs to no range or to another range.
class Naive {
 public:
  void Set(uint64_t from, uint64_t to, bool in) {
    std::fill(in_.begin() + static_cast<ptrdiff_t>(from), in_.begin() + static_cast<ptrdiff_t>(to),
              in);
  }
  std::vector<AddressRange> Ranges() const {
    std::vector<AddressRange> ranges;
    for (uint64_t at = 0; at < kSpace; ++at) {
      if (!in_[at]) continue;
      if (ranges.empty() || ranges.back().to != at) ranges.push_back({at, at});
      ranges.back().to = at + 1;
    }
    return ranges;
  }

 private:
  std::vector<bool> in_ = std::vector<bool>(kSpace);
};

// Compares the set with the naive one, whose addresses stand for multiples of `step`. RangeSet has
// a table for steps of 512, and none for steps of 48.
void CompareWithNaive(const RangeSet& set, const Naive& naive, uint64_t step, uint64_t unit) {
  uint64_t bytes = 0;
  uint64_t largest = 0;
  uint64_t whole = 0;
  for (const AddressRange& range : naive.Ranges()) {
    bytes += range.size() * step;
    largest = std::max(largest, range.size() * step);
    const uint64_t first = (range.from + unit - 1) / unit;
    const uint64_t last = range.to / unit;
    if (last > first) whole += (last - first) * unit * step;
  }
  ASSERT_EQ(set.count(), naive.Ranges().size());
  ASSERT_EQ(set.bytes(), bytes);
  for (const uint64_t request : {uint64_t{1}, 3 * step, 9 * step, 40 * step}) {
    uint64_t usable = 0;
    uint64_t whole_of_large = 0;
    for (const AddressRange& range : naive.Ranges()) {
      if (range.size() * step < request) continue;
      usable += range.size() * step;
      const uint64_t first = (range.from + unit - 1) / unit;
      const uint64_t last = range.to / unit;
      if (last > first) whole_of_large += (last - first) * unit * step;
    }
    const FreeMemory free = set.Free(request, 7);
    EXPECT_EQ(free.free_bytes, bytes + 7);
    EXPECT_EQ(free.largest_bytes, largest);
    EXPECT_EQ(free.movable_bytes, whole + 7);
    EXPECT_EQ(free.unusable_bytes, bytes - usable - (whole - whole_of_large));
  }
  EXPECT_EQ(set.Largest().size(), largest);
}

class RangeSetTest : public testing::TestWithParam<uint64_t> {};

TEST_P(RangeSetTest, IsWhatOneWouldCount) {
  constexpr uint64_t kUnit = 8;
  const uint64_t step = GetParam();
  std::mt19937_64 random(step);
  RangeSet set;
  Naive naive;
  set.MovesUnits(kUnit * step, 0);
  for (int i = 0; i < 4000; ++i) {
    const uint64_t from = random() % (kSpace - 1);
    const uint64_t to = std::min(kSpace, from + 1 + random() % 30);
    const bool in = random() % 2 == 0;
    naive.Set(from, to, in);
    if (in) {
      set.Add(from * step, to * step);
    } else {
      set.Cut(from * step, to * step);
    }
    CompareWithNaive(set, naive, step, kUnit);
    if (HasFailure()) FAIL() << "after " << i;
  }
  const std::vector<AddressRange> inside = set.Inside(0, kSpace * step);
  const std::vector<AddressRange> outside = set.Outside(0, kSpace * step);
  uint64_t all = 0;
  for (const AddressRange& range : inside) all += range.size();
  for (const AddressRange& range : outside) all += range.size();
  EXPECT_EQ(all, kSpace * step);
  EXPECT_EQ(inside.size(), set.count());
}

INSTANTIATE_TEST_SUITE_P(Steps, RangeSetTest, testing::Values(48, 512, 1 << 20));

TEST(RangeSet, SaysHowMuchWasCut) {
  RangeSet set;
  set.Add(100, 200);
  set.Add(300, 400);
  EXPECT_EQ(set.Cut(150, 350), 100u);
  EXPECT_EQ(set.Cut(150, 350), 0u);
  EXPECT_EQ(set.count(), 2u);
}

TEST(RangeSet, JoinsNothingAcrossTheEdgesThatAreNamed) {
  RangeSet set;
  set.Add(100, 200);
  set.Add(300, 400);
  set.Add(200, 300, 200, 300);
  EXPECT_EQ(set.count(), 3u);
  set.Cut(200, 300);
  set.Add(200, 300, 100, 300);
  EXPECT_EQ(set.count(), 2u);
  EXPECT_EQ(set.Largest().from, 100u);
}

}  // namespace
}  // namespace vramstow
