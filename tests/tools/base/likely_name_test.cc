#include "tools/base/likely_name.h"

#include <gtest/gtest.h>

namespace vramstow {
namespace {

const std::vector<std::string> kNames = {"--pool", "--plain", "--simulate", "--stacks"};

TEST(LikelyName, IsTheOneWithTheFewestEdits) {
  EXPECT_EQ(LikelyName("--polo", kNames), "--pool");         // two neighbours swapped
  EXPECT_EQ(LikelyName("--simulat", kNames), "--simulate");  // a letter is missing
  EXPECT_EQ(LikelyName("--stackks", kNames), "--stacks");    // one is too many
  EXPECT_EQ(LikelyName("--plein", kNames), "--plain");       // one is wrong
  EXPECT_EQ(LikelyName("--pool", kNames), "--pool");
}

TEST(LikelyName, IsNoneWhereNothingIsNear) {
  EXPECT_EQ(LikelyName("--frobnicate", kNames), "");
  EXPECT_EQ(LikelyName("x", kNames), "");
  EXPECT_EQ(LikelyName("", kNames), "");
  EXPECT_EQ(LikelyName(std::string(100000, '-'), kNames), "");
  EXPECT_EQ(LikelyName("--pool", {}), "");
}

}  // namespace
}  // namespace vramstow
