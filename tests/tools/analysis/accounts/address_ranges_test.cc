#include "tools/analysis/accounts/address_ranges.h"

#include <gtest/gtest.h>

namespace vramstow {
namespace {

TEST(AddressRanges, AMappingDividesItsHole) {
  AddressRanges space;
  ASSERT_TRUE(space.Reserve(100, 100));
  ASSERT_TRUE(space.Map({140, 20, 1}));
  const FreeMemory free = space.Free(41);
  EXPECT_EQ(free.free_bytes, 80u);
  EXPECT_EQ(free.largest_bytes, 40u);
  EXPECT_EQ(free.unusable_bytes, 80u);
  EXPECT_EQ(space.Free(40).unusable_bytes, 0u);
  EXPECT_EQ(space.mapped_bytes(), 20u);
}

TEST(AddressRanges, AnUnmapJoinsTheHolesAroundIt) {
  AddressRanges space;
  space.Reserve(100, 100);
  space.Map({140, 20, 1});
  EXPECT_EQ(space.Unmap(140, 20).size(), 1u);
  EXPECT_EQ(space.Free(1).largest_bytes, 100u);
  EXPECT_TRUE(space.Unmap(140, 20).empty());
}

TEST(AddressRanges, NeighbouringRangesAreNotJoined) {
  AddressRanges space;
  space.Reserve(100, 100);
  space.Reserve(200, 100);
  EXPECT_EQ(space.Free(1).largest_bytes, 100u);
  space.Map({180, 20, 1});
  space.Map({200, 20, 2});
  space.Unmap(100, 200);
  EXPECT_EQ(space.Free(1).free_bytes, 200u);
  EXPECT_EQ(space.Free(1).largest_bytes, 100u);
}

TEST(AddressRanges, AnUnmapTakesOnlyWholeMappings) {
  AddressRanges space;
  space.Reserve(0x1000, 0x1000);
  space.Map({0x1000, 0x100, 1});
  space.Map({0x1100, 0x100, 2});
  EXPECT_TRUE(space.Unmap(0x1010, 0x20).empty());
  EXPECT_EQ(space.Unmap(0x1000, 0x180).size(), 1u);
  EXPECT_EQ(space.MemoryAt(0x1150), 2u);
  EXPECT_EQ(space.MemoryAt(0x1050), 0u);
  EXPECT_EQ(space.Displace(0x1180, 1).size(), 1u);
}

TEST(AddressRanges, MappingsOutsideOfKnownRangesMakeNoHoles) {
  AddressRanges space;
  space.Map({500, 10, 1});
  space.Unmap(500, 10);
  EXPECT_EQ(space.Free(1).free_bytes, 0u);
  EXPECT_FALSE(space.any_ranges());
}

TEST(AddressRanges, WhatIsNoRangeHasNoEffect) {
  AddressRanges space;
  EXPECT_FALSE(space.Reserve(10, 0));
  EXPECT_FALSE(space.Reserve(~uint64_t{0} - 5, 100));
  EXPECT_FALSE(space.Map({~uint64_t{0}, 100, 1}));
  EXPECT_EQ(space.Unreserve(10), 0u);
  EXPECT_EQ(space.reserved_bytes(), 0u);
}

TEST(AddressRanges, ARangeOverAnotherReplacesIt) {
  AddressRanges space;
  space.Reserve(100, 100);
  space.Map({150, 10, 1});
  space.Reserve(120, 200);
  EXPECT_EQ(space.reserved_bytes(), 200u);
  EXPECT_EQ(space.highest_reserved_bytes(), 200u);
  EXPECT_EQ(space.Free(1).free_bytes, 190u);
}

}  // namespace
}  // namespace vramstow
