// Tests that BlockSizes follows the rules by which PyTorch's own allocator splits and merges
// blocks.
#include "adapters/torch/observer/block_sizes.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <random>
#include <utility>
#include <vector>

namespace vramstow::torch_observer {
namespace {

constexpr uint64_t kKiB = 1024;
constexpr uint64_t kMiB = 1024 * kKiB;
constexpr uint64_t kNoLimit = ~uint64_t{0};
constexpr uint64_t kBase = uint64_t{1} << 45;

TEST(RoundSizeTest, RequestsAreRoundedTo512Bytes) {
  EXPECT_EQ(RoundSize(1, 0), 512U);
  EXPECT_EQ(RoundSize(512, 0), 512U);
  EXPECT_EQ(RoundSize(513, 0), 1024U);
  EXPECT_EQ(RoundSize(3 * kMiB + 1, 1), 3 * kMiB + 512);
}

TEST(RoundSizeTest, PowersOfTwoAreDividedWhereTheUserAsksForThat) {
  EXPECT_EQ(RoundSize(1200, 4), 1536U) << "too small for the division";
  EXPECT_EQ(RoundSize(5 * kKiB + 1, 4), 6 * kKiB);
  EXPECT_EQ(RoundSize(8 * kKiB, 4), 8 * kKiB);
  EXPECT_EQ(RoundSize(9 * kKiB, 8), 9 * kKiB);
  EXPECT_EQ(RoundSize(9 * kKiB + 1, 8), 10 * kKiB);
}

TEST(RoundSizeTest, SmallRequestsAreRoundedAlikeByAllDivisions) {
  for (uint64_t requested = 1; requested <= kMaxRoundedAlike; ++requested) {
    for (const uint64_t divisions : {1, 2, 4, 8, 16, 64}) {
      ASSERT_EQ(RoundSize(requested, divisions), RoundSize(requested, 0)) << requested;
    }
  }
  EXPECT_NE(RoundSize(2049, 2), RoundSize(2049, 0)) << "larger ones are not";
}

TEST(BlockSizesTest, WhatPyTorchKeepsWholeAtMostIsNotAskedForBelowOneMebibyte) {
  for (const uint64_t max_split : {uint64_t{0}, kMiB, kNoLimit}) {
    BlockSizes sizes;
    sizes.AddSegment(kBase, 20 * kMiB);
    EXPECT_EQ(sizes.Allocate(kBase, kMaxCutAlways, max_split), kMaxCutAlways);
  }
  BlockSizes sizes;
  sizes.AddSegment(kBase, 20 * kMiB);
  EXPECT_EQ(sizes.Allocate(kBase, kMaxCutAlways + 512, 0), 20 * kMiB) << "there it decides";
}

TEST(BlockSizesTest, ASmallPieceIsCutAndALargeOneKeepsARestOfUpToOneMebibyte) {
  BlockSizes sizes;
  sizes.AddSegment(kBase, 2 * kMiB);
  EXPECT_EQ(sizes.Allocate(kBase, 512, kNoLimit), 512U);
  EXPECT_EQ(sizes.Allocate(kBase + 512, kMiB, kNoLimit), kMiB);
  const uint64_t large = kBase + 1024 * kMiB;
  sizes.AddSegment(large, 20 * kMiB);
  EXPECT_EQ(sizes.Allocate(large, 12 * kMiB, kNoLimit), 12 * kMiB);
  EXPECT_EQ(sizes.Allocate(large + 12 * kMiB, 7 * kMiB, kNoLimit), 8 * kMiB)
      << "no rest is cut off";
  EXPECT_EQ(sizes.SizeOf(large + 12 * kMiB), 8 * kMiB);
}

TEST(BlockSizesTest, APieceIsNotCutForARequestOverTheLimit) {
  BlockSizes sizes;
  sizes.AddSegment(kBase, 60 * kMiB);
  EXPECT_EQ(sizes.Allocate(kBase, 40 * kMiB, 20 * kMiB), 60 * kMiB);
}

TEST(BlockSizesTest, FreePiecesAreMergedWithinTheirSegmentOnly) {
  BlockSizes sizes;
  sizes.AddSegment(kBase, 20 * kMiB);
  sizes.AddSegment(kBase + 20 * kMiB, 20 * kMiB);
  EXPECT_EQ(sizes.Allocate(kBase, 5 * kMiB, kNoLimit), 5 * kMiB);
  EXPECT_EQ(sizes.Allocate(kBase + 5 * kMiB, 5 * kMiB, kNoLimit), 5 * kMiB);
  sizes.Release(kBase);
  sizes.Release(kBase + 5 * kMiB);
  EXPECT_EQ(sizes.Allocate(kBase, 19 * kMiB + 512 * kKiB, kNoLimit), 20 * kMiB)
      << "one piece again, and not one with the next segment";
}

TEST(BlockSizesTest, MemoryOfASegmentThatWasNotSeenHasTheRoundedSize) {
  BlockSizes sizes;
  EXPECT_EQ(sizes.Allocate(kBase, 3 * kMiB, kNoLimit), 3 * kMiB);
  EXPECT_EQ(sizes.SizeOf(kBase), 3 * kMiB);
  sizes.Release(kBase);
  EXPECT_EQ(sizes.SizeOf(kBase), 0U);
}

TEST(BlockSizesTest, ASegmentThatIsGivenBackIsForgotten) {
  BlockSizes sizes;
  sizes.AddSegment(kBase, 2 * kMiB);
  EXPECT_EQ(sizes.Allocate(kBase, 512, kNoLimit), 512U);
  sizes.Release(kBase);
  sizes.RemoveSegment(kBase);
  EXPECT_EQ(sizes.Allocate(kBase, kMiB, kNoLimit), kMiB);
  sizes.Release(kBase);
  EXPECT_EQ(sizes.SizeOf(kBase), 0U);
}

// A reference implementation for the test: it applies the same rules to a list of pieces, which is
// searched from the beginning each time.
class SlowModel {
 public:
  void AddSegment(uint64_t address, uint64_t size) { pieces_[address] = {size, address, true}; }
  uint64_t Allocate(uint64_t address, uint64_t rounded) {
    Piece& piece = pieces_.at(address);
    const uint64_t rest = piece.size - rounded;
    if (rounded <= kMiB ? rest >= 512 : rest > kMiB) {
      pieces_[address + rounded] = {rest, piece.segment, true};
      piece.size = rounded;
    }
    piece.free = false;
    return piece.size;
  }
  void Release(uint64_t address) {
    pieces_.at(address).free = true;
    for (auto at = pieces_.begin(); at != pieces_.end();) {
      const auto next = std::next(at);
      if (next == pieces_.end()) break;
      if (at->second.free && next->second.free && at->second.segment == next->second.segment) {
        at->second.size += next->second.size;
        pieces_.erase(next);
      } else {
        at = next;
      }
    }
  }
  std::vector<std::pair<uint64_t, uint64_t>> Free() const {
    std::vector<std::pair<uint64_t, uint64_t>> found;
    for (const auto& [address, piece] : pieces_) {
      if (piece.free) found.emplace_back(address, piece.size);
    }
    return found;
  }

 private:
  struct Piece {
    uint64_t size;
    uint64_t segment;
    bool free;
  };
  std::map<uint64_t, Piece> pieces_;
};

TEST(BlockSizesTest, TenThousandStepsAgreeWithASlowModel) {
  BlockSizes sizes;
  SlowModel model;
  for (uint64_t i = 0; i < 40; ++i) {
    sizes.AddSegment(kBase + i * 20 * kMiB, 20 * kMiB);
    model.AddSegment(kBase + i * 20 * kMiB, 20 * kMiB);
  }
  std::mt19937_64 random(7);
  std::vector<uint64_t> live;
  int allocated = 0;
  for (int step = 0; step < 10'000; ++step) {
    if (random() % 100 < 52 || live.empty()) {
      const uint64_t rounded = 512 * (1 + random() % (random() % 2 == 0 ? 64 : 24 * 1024));
      auto pieces = model.Free();
      std::erase_if(pieces, [&](const auto& piece) { return piece.second < rounded; });
      if (pieces.empty()) continue;
      const uint64_t address = pieces[random() % pieces.size()].first;
      ASSERT_EQ(sizes.Allocate(address, rounded, kNoLimit), model.Allocate(address, rounded));
      live.push_back(address);
      ++allocated;
    } else {
      const size_t which = random() % live.size();
      std::swap(live[which], live.back());
      sizes.Release(live.back());
      model.Release(live.back());
      live.pop_back();
    }
  }
  EXPECT_GT(allocated, 3'000);
}

}  // namespace
}  // namespace vramstow::torch_observer
