#include "bench/mesh_bound.h"

#include <gtest/gtest.h>

namespace vramstow {
namespace {

constexpr uint64_t kPage = 8 * 512;

TEST(MeshBound, PagesWhoseBlocksDoNotOverlapShareAChunk) {
  MeshBound bound(kPage);
  bound.Add(0, 512);                 // unit 0 of page 0
  bound.Add(kPage + 512, 1024);      // units 1 and 2 of page 1
  bound.Add(2 * kPage + 2048, 700);  // units 4 and 5 of page 2
  bound.Add(3 * kPage, kPage);       // all of page 3
  const MeshCounts counts = bound.Look();
  EXPECT_EQ(counts.pages, 4U);
  EXPECT_EQ(counts.pairs, 3U);
  EXPECT_EQ(counts.groups, 2U);
  EXPECT_EQ(counts.least, 2U);
}

TEST(MeshBound, BlocksAtTheSameOffsetNeedAChunkEach) {
  MeshBound bound(kPage);
  for (uint64_t page = 0; page < 5; ++page) bound.Add(page * kPage + 1024, 512);
  EXPECT_EQ(bound.Look().pairs, 5U);
  EXPECT_EQ(bound.Look().groups, 5U);
  EXPECT_EQ(bound.Look().least, 5U);
  bound.Remove(1024);
  EXPECT_EQ(bound.Look().least, 4U);
}

TEST(MeshBound, ABlockOverSeveralPagesUsesEachOfThem) {
  MeshBound bound(kPage);
  bound.Add(512, 2 * kPage);  // its first page has a gap at the start, its last one is used there
  EXPECT_EQ(bound.Look().pages, 3U);
  EXPECT_EQ(bound.Look().pairs, 2U);
  EXPECT_EQ(bound.Look().least, 2U);
}

// No two of these pages overlap, so all three would fit on one chunk. But only two pages may share
// a chunk, so one page is left.
TEST(MeshBound, APairIsTwoPages) {
  MeshBound bound(kPage);
  for (uint64_t page = 0; page < 3; ++page) bound.Add(page * kPage + page * 512, 512);
  EXPECT_EQ(bound.Look().pairs, 2U);
  EXPECT_EQ(bound.Look().groups, 1U);
}

TEST(MeshBound, NothingNeedsNothing) { EXPECT_EQ(MeshBound(kPage).Look().least, 0U); }

}  // namespace
}  // namespace vramstow
