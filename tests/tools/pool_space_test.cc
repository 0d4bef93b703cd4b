#include "tools/analysis/accounts/pool_space.h"

#include <gtest/gtest.h>

namespace vramstow {
namespace {

TEST(PoolSpace, IsFreeWhereNoBlockIs) {
  PoolSpace space;
  space.AddSegment(1000, 100);
  space.Put(1000, 30);
  space.Put(1050, 10);
  EXPECT_EQ(space.Free(25).free_bytes, 60u);
  EXPECT_EQ(space.Free(25).largest_bytes, 40u);
  EXPECT_EQ(space.Free(25).unusable_bytes, 20u);
  EXPECT_EQ(space.hole_count(), 2u);
  EXPECT_EQ(space.LargestHole().from, 1060u);
  space.Take(1050, 10);
  EXPECT_EQ(space.LargestHole().size(), 70u);
  space.EndSegment(1000);
  EXPECT_EQ(space.Free(1).free_bytes, 0u);
}

TEST(PoolSpace, WhatComesAndGoesBeforeAnybodyAsksLeavesNothing) {
  PoolSpace space;
  space.AddSegment(0, 1 << 20);
  space.Put(512, 512);
  for (uint64_t i = 0; i < 50000; ++i) {
    space.Put(1024 + i % 100 * 512, 512);
    space.Take(1024 + i % 100 * 512, 512);
  }
  EXPECT_EQ(space.Free(1).free_bytes, (1u << 20) - 512);
  EXPECT_EQ(space.hole_count(), 2u);
}

TEST(PoolSpace, MoreThanIsNotedAtOnceIsPlaced) {
  PoolSpace space;
  space.AddSegment(0, 1 << 30);
  for (uint64_t i = 0; i < 100000; ++i) space.Put(i * 1024, 512);
  EXPECT_EQ(space.hole_count(), 100000u);
  for (uint64_t i = 0; i < 100000; i += 2) space.Take(i * 1024, 512);
  EXPECT_EQ(space.hole_count(), 50001u);
  EXPECT_EQ(space.Free(1).free_bytes, (1u << 30) - 50000u * 512);
}

// As live memory does that goes to the host and comes back.
TEST(PoolSpace, MemoryThatComesToWhereABlockIsIsUsed) {
  PoolSpace space;
  space.AddHandle(7, 4096, false);
  space.Map(8192, 4096, 7);
  space.Put(8192, 1024);
  EXPECT_EQ(space.Free(1).free_bytes, 3072u);
  space.Unmap(8192, 4096);
  EXPECT_EQ(space.Free(1).free_bytes, 4096u) << "the chunk is free, wherever it goes";
  space.Put(8192 + 1024, 512);
  space.Map(8192, 4096, 7);
  EXPECT_EQ(space.Free(1).free_bytes, 4096u - 1536);
  space.Unmap(8192, 4096);
  space.Take(8192, 1024);
  space.Map(8192, 4096, 7);
  EXPECT_EQ(space.Free(1).free_bytes, 4096u - 512);
}

TEST(PoolSpace, HistoriesThatContradictThemselvesDoNoHarm) {
  PoolSpace space;
  space.Take(100, 50);
  space.AddSegment(0, 1000);
  space.Put(100, 50);
  space.Put(100, 80);  // the first one's end was not seen
  space.Take(100, 80);
  space.Take(100, 80);
  space.Put(200, 0);
  space.Put(~uint64_t{0} - 5, 100);
  space.Take(~uint64_t{0} - 5, 100);
  space.Put(900, 500);  // half of it where nothing is known
  EXPECT_EQ(space.Free(1).free_bytes, 900u);
  space.Take(900, 500);
  EXPECT_EQ(space.Free(1).free_bytes, 1000u);
  EXPECT_EQ(space.Free(1).largest_bytes, 1000u);
}

}  // namespace
}  // namespace vramstow
