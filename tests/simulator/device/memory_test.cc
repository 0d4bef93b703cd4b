#include "simulator/device/memory.h"

#include <gtest/gtest.h>

#include <optional>
#include <random>

#include "base/range_allocator.h"
#include "simulator/device/contents.h"
#include "simulator/device/virtual_memory.h"

namespace vramstow::simulator {
namespace {

constexpr uint64_t kMiB = 1ull << 20;
constexpr uint64_t kMax = 32 * kMiB;  // limit of large writes

TEST(RangeAllocatorTest, TakesTheLowestThatFitsAndJoins) {
  RangeAllocator ranges;
  ranges.Add(0x1000, 0x3000);
  EXPECT_EQ(0x1000u, ranges.Take(0x1000, 0x1000));
  EXPECT_EQ(0x2000u, ranges.Take(0x1000, 0x1000));
  EXPECT_EQ(0x3000u, ranges.Take(0x1000, 0x1000));
  EXPECT_EQ(0u, ranges.Take(1, 1));
  ranges.Add(0x1000, 0x1000);
  ranges.Add(0x3000, 0x1000);
  EXPECT_EQ(0u, ranges.Take(0x2000, 0x1000)) << "two holes are not one";
  ranges.Add(0x2000, 0x1000);
  EXPECT_EQ(0x1000u, ranges.Take(0x3000, 0x1000)) << "joined";
}

TEST(RangeAllocatorTest, AlignmentSkipsAndKeepsTheRest) {
  RangeAllocator ranges;
  ranges.Add(0x1100, 0x2000);
  EXPECT_EQ(0x2000u, ranges.Take(0x100, 0x1000));
  EXPECT_EQ(0x1100u, ranges.Take(0xf00, 0x100));
  EXPECT_TRUE(ranges.AllocateAt(0x2100, 0x1000));
  EXPECT_FALSE(ranges.AllocateAt(0x2100, 1));
}

class MemoryTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string error;
    ASSERT_TRUE(space_.Reserve(1, 256 * kMiB, &error)) << error;
    memory_.emplace(&space_, 1, 256 * kMiB);
    virtual_.emplace(&space_, &*memory_, std::vector<int>{0});
    contents_.emplace(&space_, &*memory_, &*virtual_, true, kMax);
  }
  Block* Allocate(uint64_t bytes) {
    Block* block = nullptr;
    EXPECT_EQ(Result::kSuccess, memory_->Allocate(0, bytes, BlockKind::kDevice, this, &block));
    return block;
  }

  AddressSpace space_;
  std::optional<Memory> memory_;
  std::optional<VirtualMemory> virtual_;
  std::optional<Contents> contents_;
};

TEST_F(MemoryTest, EveryFreeGivesBackWhatWasTaken) {
  std::mt19937 random(5);
  std::vector<Block*> blocks;
  for (int step = 0; step < 3000; ++step) {
    if (blocks.size() > 40 || (!blocks.empty() && random() % 2 == 0)) {
      const size_t pick = random() % blocks.size();
      memory_->Release(blocks[pick]);
      blocks.erase(blocks.begin() + static_cast<ptrdiff_t>(pick));
    } else {
      Block* block = nullptr;
      const uint64_t bytes = 1 + random() % (random() % 4 == 0 ? 8 * kMiB : 300000);
      if (memory_->Allocate(0, bytes, BlockKind::kDevice, this, &block) == Result::kSuccess) {
        blocks.push_back(block);
      }
    }
    uint64_t live = 0;
    for (const Block* block : blocks) live += block->size;
    ASSERT_GE(memory_->used(0), live);
  }
  for (Block* block : blocks) memory_->Release(block);
  EXPECT_EQ(0u, memory_->used(0));
}

TEST_F(MemoryTest, RefusedAllocationChangesNothing) {
  Block* block = nullptr;
  Allocate(200 * kMiB);
  const uint64_t used = memory_->used(0);
  EXPECT_EQ(Result::kOutOfMemory,
            memory_->Allocate(0, 100 * kMiB, BlockKind::kDevice, this, &block));
  EXPECT_EQ(used, memory_->used(0));
}

TEST_F(MemoryTest, AddressesInsideBelongToTheBlock) {
  Block* block = Allocate(3 * kMiB);
  EXPECT_EQ(block, memory_->FindAround(block->address + 3 * kMiB - 1));
  EXPECT_EQ(block, memory_->FindExact(block->address));
  EXPECT_EQ(nullptr, memory_->FindExact(block->address + 1));
  EXPECT_EQ(nullptr, memory_->FindAround(block->address - 1));
}

TEST_F(MemoryTest, FreshMemoryReadsAsZerosAfterALargeBlockWasWritten) {
  Block* block = Allocate(4 * kMiB);
  const uint64_t address = block->address;
  contents_->Fill(address, 0xff, 1, 4 * kMiB);
  memory_->Release(block);
  ASSERT_EQ(address, Allocate(4 * kMiB)->address);
  char byte = 1;
  contents_->Copy(reinterpret_cast<uintptr_t>(&byte), address + kMiB, 1);
  EXPECT_EQ(0, byte);
}

TEST_F(MemoryTest, TranslateStaysInsideTheBlock) {
  const Block* block = Allocate(3 * kMiB);
  EXPECT_NE(nullptr, contents_->Translate(block->address, 3 * kMiB, false));
  EXPECT_EQ(nullptr, contents_->Translate(block->address + kMiB, 4 * kMiB, false));
  EXPECT_EQ(nullptr, contents_->Translate(block->address + 100 * kMiB, 1, false));
}

TEST_F(MemoryTest, CopyFromAMappingGoesOverChunkBorders) {
  uint64_t range = 0;
  ASSERT_EQ(Result::kSuccess, virtual_->Reserve(2 * kDevicePage, 0, 0, &range));
  for (int i = 0; i < 2; ++i) {
    uint64_t handle = 0;
    Physical wish;
    wish.device = 0;
    wish.size = kDevicePage;
    ASSERT_EQ(Result::kSuccess, virtual_->Create(wish, &handle));
    ASSERT_EQ(Result::kSuccess, virtual_->Map(range + i * kDevicePage, kDevicePage, 0, handle));
  }
  ASSERT_EQ(Result::kSuccess, virtual_->SetAccess(range, 2 * kDevicePage, 0, Access::kReadWrite));
  ASSERT_EQ(Result::kSuccess, contents_->Check(range, 2 * kDevicePage, 0, true, false));
  contents_->Fill(range + kDevicePage - 10, 7, 1, 20);
  std::vector<char> read(2 * kDevicePage, 1);
  contents_->Copy(reinterpret_cast<uintptr_t>(read.data()), range, read.size());
  EXPECT_EQ(0, read[kDevicePage - 11]);
  EXPECT_EQ(7, read[kDevicePage - 10]);
  EXPECT_EQ(7, read[kDevicePage + 9]);
  EXPECT_EQ(0, read[kDevicePage + 10]);
}

TEST_F(MemoryTest, ALargeCopyOfTheHostsThatHasNoRoomIsLeftOutAndMarked) {
  const std::vector<char> source(20 * kMiB, 7);
  const uint64_t from = reinterpret_cast<uintptr_t>(source.data());
  const uint64_t first = Allocate(12 * kMiB)->address;
  const uint64_t second = Allocate(8 * kMiB)->address;
  EXPECT_FALSE(contents_->LeavesOut(first, from, 12 * kMiB));
  contents_->Copy(first, from, 12 * kMiB);
  EXPECT_TRUE(contents_->LeavesOut(second, from, 8 * kMiB));
  EXPECT_FALSE(contents_->LeavesOut(second, from, 4 * kMiB)) << "as much as there is room";
  EXPECT_FALSE(contents_->LeavesOut(first, from, 12 * kMiB)) << "which is held already";
  EXPECT_FALSE(contents_->LeavesOut(second, first, 8 * kMiB)) << "a copy of the device's own";
  contents_->Stage(8 * kMiB);
  EXPECT_TRUE(contents_->LeavesOut(second, from, 4 * kMiB)) << "what waits takes room";
  EXPECT_FALSE(contents_->LeavesOut(second, from, kMiB)) << "small ones are always kept";
  contents_->Unstage(8 * kMiB);

  contents_->Fill(second, 9, 1, 100);
  contents_->LeaveOut(second, 8 * kMiB);
  char byte = 1;
  contents_->Copy(reinterpret_cast<uintptr_t>(&byte), second + 50, 1);
  EXPECT_EQ(0, byte) << "never what lay there before";
  EXPECT_STREQ("a copy beyond contents=32MiB", contents_->uncomputed().PopLastRead());
  contents_->Copy(second, from, kMiB);
  EXPECT_EQ(nullptr, contents_->uncomputed().Find(second, kMiB));
  EXPECT_NE(nullptr, contents_->uncomputed().Find(second + kMiB, 1));
}

TEST_F(MemoryTest, ACopyToMemoryThatMayBeShownElsewhereIsAlwaysKept) {
  uint64_t range = 0;
  uint64_t handle = 0;
  Physical wish;
  wish.device = 0;
  wish.size = 20 * kMiB;
  ASSERT_EQ(Result::kSuccess, virtual_->Reserve(20 * kMiB, 0, 0, &range));
  ASSERT_EQ(Result::kSuccess, virtual_->Create(wish, &handle));
  ASSERT_EQ(Result::kSuccess, virtual_->Map(range, 20 * kMiB, 0, handle));
  const std::vector<char> source(20 * kMiB, 7);
  const uint64_t from = reinterpret_cast<uintptr_t>(source.data());
  EXPECT_FALSE(contents_->LeavesOut(range, from, 20 * kMiB));
  EXPECT_TRUE(contents_->LeavesOut(Allocate(20 * kMiB)->address, from, 20 * kMiB));
}

TEST_F(MemoryTest, WhatManyPiecesTakeTogetherIsWhatNeedsRoom) {
  const uint64_t first = Allocate(20 * kMiB)->address;
  const uint64_t second = Allocate(20 * kMiB)->address;
  const Contents::Piece pieces[] = {{first, 20 * kMiB}, {second, 20 * kMiB}};
  EXPECT_TRUE(contents_->HasRoom({pieces, 1}));
  EXPECT_FALSE(contents_->HasRoom(pieces));
  contents_->Fill(first, 1, 1, 20 * kMiB);
  EXPECT_FALSE(contents_->HasRoom(pieces));
  contents_->Fill(second, 1, 1, 8 * kMiB);
  EXPECT_FALSE(contents_->HasRoom(pieces)) << "12 MiB more, and there is room for 4";
  contents_->Fill(second, 0, 1, 8 * kMiB);
  EXPECT_TRUE(contents_->HasRoom({pieces, 1})) << "zeros take nothing, what is held nothing again";
}

}  // namespace
}  // namespace vramstow::simulator
