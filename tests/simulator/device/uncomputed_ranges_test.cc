// Tests the marks of memory that kernels should have computed and did not.
#include "simulator/device/uncomputed_ranges.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

namespace vramstow::simulator {
namespace {

TEST(UncomputedRangesTest, FindsWhoLeftOutAnyByteOfARange) {
  UncomputedRanges marks;
  EXPECT_EQ(nullptr, marks.Find(0, 1000));
  marks.Mark(100, 50, "gemm");
  EXPECT_EQ(nullptr, marks.Find(0, 100));
  EXPECT_STREQ("gemm", marks.Find(0, 101));
  EXPECT_STREQ("gemm", marks.Find(149, 1));
  EXPECT_EQ(nullptr, marks.Find(150, 1000));
  EXPECT_EQ(nullptr, marks.Find(120, 0));
}

TEST(UncomputedRangesTest, WritingClearsJustWhatIsWritten) {
  UncomputedRanges marks;
  marks.Mark(100, 100, "gemm");
  marks.Clear(120, 10);
  EXPECT_NE(nullptr, marks.Find(119, 1));
  EXPECT_EQ(nullptr, marks.Find(120, 10));
  EXPECT_NE(nullptr, marks.Find(130, 1));
  marks.Clear(0, 1000);
  EXPECT_TRUE(marks.empty());
}

TEST(UncomputedRangesTest, TheLatestMarkCounts) {
  UncomputedRanges marks;
  marks.Mark(100, 100, "first");
  marks.Mark(150, 100, "second");
  EXPECT_STREQ("first", marks.Find(149, 1));
  EXPECT_STREQ("second", marks.Find(150, 1));
  EXPECT_STREQ("second", marks.Find(249, 1));
}

TEST(UncomputedRangesTest, ACopyTakesMarksAlongAndClearsTheRest) {
  UncomputedRanges marks;
  marks.Mark(110, 10, "gemm");
  marks.Mark(1000, 100, "old");
  marks.Copy(1000, 100, 100);
  EXPECT_EQ(nullptr, marks.Find(1000, 10));
  EXPECT_STREQ("gemm", marks.Find(1010, 10));
  EXPECT_EQ(nullptr, marks.Find(1020, 80));
  EXPECT_STREQ("gemm", marks.Find(110, 10));
}

// Compares the table with a map of bytes under random steps, including overlapping copies.
TEST(UncomputedRangesTest, EqualsAMapOfBytes) {
  constexpr int kBytes = 256;
  const char* const names[] = {"a", "b", "c"};
  std::minstd_rand random(7);
  UncomputedRanges marks;
  std::vector<const char*> bytes(2 * kBytes, nullptr);
  for (int step = 0; step < 20000; ++step) {
    const uint64_t at = random() % kBytes;
    const uint64_t count = random() % 40;
    switch (random() % 3) {
      case 0: {
        const char* by = names[random() % 3];
        marks.Mark(at, count, by);
        std::fill_n(bytes.begin() + at, count, by);
        break;
      }
      case 1:
        marks.Clear(at, count);
        std::fill_n(bytes.begin() + at, count, nullptr);
        break;
      default: {
        const uint64_t to = random() % kBytes;
        marks.Copy(to, at, count);
        const std::vector<const char*> copy(bytes.begin() + at, bytes.begin() + at + count);
        std::copy(copy.begin(), copy.end(), bytes.begin() + to);
      }
    }
    for (uint64_t i = 0; i < kBytes; ++i) ASSERT_EQ(bytes[i], marks.Find(i, 1)) << step;
  }
}

TEST(UncomputedRangesTest, OldValuesAreKnownFromLostOnes) {
  constexpr const char* kMm = "mm";
  UncomputedRanges ranges;
  ranges.Mark(100, 50, kMm, /*is_old=*/true);
  EXPECT_EQ(kMm, ranges.Find(100, 50));
  EXPECT_EQ(nullptr, ranges.FindLost(100, 50));
  ranges.Mark(150, 50, kMm);
  EXPECT_EQ(nullptr, ranges.FindLost(100, 50));
  EXPECT_EQ(kMm, ranges.FindLost(100, 51));
  ranges.Copy(500, 120, 60);
  EXPECT_EQ(nullptr, ranges.FindLost(500, 30));
  EXPECT_EQ(kMm, ranges.FindLost(530, 1));
  ranges.Clear(140, 5);
  EXPECT_EQ(nullptr, ranges.FindLost(100, 50));
}

}  // namespace
}  // namespace vramstow::simulator
