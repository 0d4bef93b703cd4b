#include "base/rounding.h"

#include <gtest/gtest.h>

#include <random>

namespace vramstow {
namespace {

TEST(Rounding, AValueThatIsAMultipleStaysAndAnyOtherGoesUp) {
  EXPECT_EQ(RoundUp(0, 512), 0u);
  EXPECT_EQ(RoundUp(1, 512), 512u);
  EXPECT_EQ(RoundUp(512, 512), 512u);
  EXPECT_EQ(RoundUp(513, 512), 1024u);
  EXPECT_EQ(RoundUp(10, 3), 12u);
  EXPECT_EQ(DivideUp(0, 3), 0u);
  EXPECT_EQ(DivideUp(9, 3), 3u);
  EXPECT_EQ(DivideUp(10, 3), 4u);
}

TEST(Rounding, WithoutADivisionItIsTheSameForPowersOfTwo) {
  std::mt19937_64 random(1);
  for (int shift = 0; shift < 40; ++shift) {
    const uint64_t unit = uint64_t{1} << shift;
    for (int i = 0; i < 100; ++i) {
      const uint64_t value = random() >> 8;
      EXPECT_EQ(AlignUp(value, unit), RoundUp(value, unit)) << value << " to " << unit;
    }
  }
  // ~0 - 4095 is the largest value that can be rounded up to a multiple of 4096 without overflow.
  EXPECT_EQ(AlignUp(~uint64_t{0} - 4095, 4096), ~uint64_t{0} - 4095);
}

}  // namespace
}  // namespace vramstow
