#include "tools/analysis/accounts/pool_space.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <random>
#include <tuple>

#include "tools/analysis/accounts/block_notes.h"

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

// Unmaps and maps pages with live blocks, as happens when live memory is evicted to the host and
// restored.
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

// --- Notes of blocks that no query has read yet.

using Notes = std::vector<std::tuple<uint64_t, uint64_t, uint64_t>>;  // address, taken, size

std::vector<Notes> TakenFrom(BlockNotes* notes) {
  std::vector<Notes> taken;
  notes->DeliverAll([&](const std::vector<BlockNote>& some) {
    Notes& placed = taken.emplace_back();
    for (const BlockNote& note : some) placed.emplace_back(note.address, note.taken, note.size);
  });
  return taken;
}

// Blocks that are allocated and freed, and the differences between two moments.
class ChangingBlocks {
 public:
  // `spread` is the distance between two addresses.
  explicit ChangingBlocks(uint64_t spread) : spread_(spread) {}

  void Go(size_t steps, BlockNotes* notes) {
    before_ = sizes_;
    for (size_t i = 0; i < steps; ++i) {
      const uint64_t address = 77 + random_() % 5000 * spread_;
      uint64_t& size = sizes_[address];
      if (size != 0) {
        notes->Went(address, size);
        size = 0;
      } else {
        size = 1 + random_() % 3;
        notes->Came(address, size);
      }
    }
  }

  Notes Differences() const {
    Notes notes;
    for (const auto& [address, size] : sizes_) {
      const auto known = before_.find(address);
      const uint64_t was = known == before_.end() ? 0 : known->second;
      if (was != size) notes.emplace_back(address, was, size);
    }
    return notes;
  }

 private:
  uint64_t spread_;
  std::mt19937_64 random_{5};
  std::map<uint64_t, uint64_t> sizes_;
  std::map<uint64_t, uint64_t> before_;
};

class BlockNotesTest : public testing::TestWithParam<uint64_t> {};

TEST_P(BlockNotesTest, AreWhatIsDifferentInOrderOfAddress) {
  BlockNotes notes;
  ChangingBlocks history(GetParam());
  for (const size_t steps : {size_t{1}, size_t{300}, size_t{1025}, size_t{20'000}}) {
    for (int i = 0; i < 3; ++i) {
      history.Go(steps, &notes);
      EXPECT_THAT(TakenFrom(&notes), testing::ElementsAre(history.Differences()));
      EXPECT_TRUE(notes.empty());
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Spreads, BlockNotesTest,
                         testing::Values(1, 512, 524'288, uint64_t{1} << 50));

TEST(BlockNotes, WhatContradictsIsHandedOverByItself) {
  BlockNotes notes;
  notes.Came(30, 1);
  notes.Came(10, 1);
  notes.Came(30, 2);  // a block is there already
  notes.Came(20, 1);
  notes.Went(20, 5);  // the block has another size
  notes.Went(10, 1);
  EXPECT_THAT(TakenFrom(&notes),
              testing::ElementsAre(Notes{{10, 0, 1}, {30, 0, 1}}, Notes{{30, 0, 2}},
                                   Notes{{20, 0, 1}}, Notes{{20, 5, 0}}, Notes{{10, 1, 0}}));
  EXPECT_TRUE(notes.empty());
}

TEST(BlockNotes, AreFullAtTheirMost) {
  BlockNotes notes;
  for (size_t i = 0; i < BlockNotes::kMax; ++i) {
    ASSERT_FALSE(notes.full());
    notes.Came(i, 1);
  }
  EXPECT_TRUE(notes.full());
  EXPECT_EQ(TakenFrom(&notes).front().size(), BlockNotes::kMax);
}

}  // namespace
}  // namespace vramstow
