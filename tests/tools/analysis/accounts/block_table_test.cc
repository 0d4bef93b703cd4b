#include "tools/analysis/accounts/block_table.h"

#include <gtest/gtest.h>

#include <map>
#include <random>

namespace vramstow {
namespace {

LiveBlock BlockAt(uint64_t address, uint64_t birth) {
  LiveBlock block;
  block.address = address;
  block.birth = birth;
  block.size = address ^ birth;
  return block;
}

// Makes the same steps on a BlockTable and on a map of the standard library, and compares the two.
void Compare(uint64_t addresses, uint64_t spacing, int steps) {
  BlockTable table;
  std::map<uint64_t, uint64_t> expected;  // address → birth
  std::mt19937_64 random(1);
  for (uint64_t birth = 1; birth <= static_cast<uint64_t>(steps); ++birth) {
    const uint64_t address = random() % addresses * spacing;
    if (random() % 2 == 0) {
      LiveBlock* known = nullptr;
      const bool inserted = table.Insert(BlockAt(address, birth), &known);
      ASSERT_EQ(inserted, expected.try_emplace(address, birth).second);
      if (!inserted) {
        ASSERT_EQ(known->birth, expected[address]);
      }
    } else {
      LiveBlock block;
      const auto found = expected.find(address);
      ASSERT_EQ(table.Take(address, &block), found != expected.end());
      if (found == expected.end()) continue;
      ASSERT_EQ(block.birth, found->second);
      ASSERT_EQ(block.size, address ^ found->second);
      expected.erase(found);
    }
    ASSERT_EQ(table.size(), expected.size());
  }
  std::map<uint64_t, uint64_t> left;
  table.ForEach([&left](const LiveBlock& block) { left[block.address] = block.birth; });
  EXPECT_EQ(left, expected);
  for (const auto& [address, birth] : expected) ASSERT_NE(table.Find(address), nullptr);
}

TEST(BlockTable, EqualsAMapWhenAddressesAreDense) { Compare(300, 1, 20000); }
TEST(BlockTable, EqualsAMapWhenAddressesArePages) { Compare(20000, 512, 200000); }
// The addresses differ only in high bits.
TEST(BlockTable, EqualsAMapWhenAddressesAreFarApart) { Compare(5000, uint64_t{1} << 51, 100000); }

TEST(BlockTable, AddressZeroAndTheLastOneAreAddresses) {
  BlockTable table;
  LiveBlock* known = nullptr;
  EXPECT_TRUE(table.Insert(BlockAt(0, 1), &known));
  EXPECT_TRUE(table.Insert(BlockAt(~uint64_t{0}, 2), &known));
  EXPECT_EQ(table.Find(0)->birth, 1u);
  EXPECT_EQ(table.Find(~uint64_t{0})->birth, 2u);
  EXPECT_EQ(table.Find(1), nullptr);
}

TEST(BlockTable, TakesThoseThatAreWantedAndLeavesTheOthers) {
  BlockTable table;
  LiveBlock* known = nullptr;
  for (uint64_t i = 1; i <= 1000; ++i) table.Insert(BlockAt(i * 512, i), &known);
  table.RemoveIf([](const LiveBlock& block) { return block.birth % 3 == 0; });
  EXPECT_EQ(table.size(), 667u);
  table.ForEach([](const LiveBlock& block) { EXPECT_NE(block.birth % 3, 0u); });
}

}  // namespace
}  // namespace vramstow
