#include "allocator/offload/policy.h"

#include <gtest/gtest.h>

#include <initializer_list>

#include "allocator/physical/address_space.h"
#include "base/units.h"
#include "tests/allocator/offload_fixture.h"

namespace vramstow {
namespace {

// Packs intervals as AddressSpace::Touches::gaps; the latest one comes last in the list.
uint64_t Gaps(std::initializer_list<uint64_t> gaps) {
  uint64_t all = 0;
  for (const uint64_t gap : gaps) all = all << 16 | gap;
  return all;
}

PageUse Use(uint32_t touched, uint32_t now, uint64_t gaps = 0, uint64_t bytes = kMiB) {
  return {.block_address = 0,
          .block_bytes = bytes,
          .block_id = 1,
          .gaps = gaps,
          .touched = touched,
          .now = now};
}

TEST(OffloadPolicy, TheColdestGoFirstAndOfThoseTheOldest) {
  const auto rank = MakeOffloadPolicy(OffloadChoice::kColdest).rank;
  EXPECT_LT(rank(nullptr, Use(1, 9)), rank(nullptr, Use(2, 9)));
  PageUse older = Use(5, 9);
  PageUse newer = older;
  newer.block_id = 2;
  EXPECT_LT(rank(nullptr, older), rank(nullptr, newer));
}

TEST(OffloadPolicy, BySizeALargeBlockGoesBeforeASmallOneThatIsSomewhatColder) {
  const auto rank = MakeOffloadPolicy(OffloadChoice::kSize).rank;
  EXPECT_LT(rank(nullptr, Use(100, 200, 0, 64 * kMiB)), rank(nullptr, Use(50, 200, 0, kMiB)));
  EXPECT_LT(rank(nullptr, Use(10, 10'000, 0, kMiB)),
            rank(nullptr, Use(9'990, 10'000, 0, 64 * kMiB)));
}

TEST(OffloadPolicy, AfterAGapComesWhatCameAfterOneLikeIt) {
  // Forward and backward passes alternate: an interval of 10 is followed by 300, and 300 by 10.
  EXPECT_EQ(ExpectedTouch(Use(1000, 1001, Gaps({10, 300, 10}))), 1300U);
  EXPECT_EQ(ExpectedTouch(Use(1000, 1001, Gaps({300, 10, 300}))), 1010U);
  EXPECT_EQ(ExpectedTouch(Use(1000, 1001, Gaps({200, 200}))), 1200U);
  // The intervals of two iterations differ slightly, but the pattern is found all the same.
  EXPECT_EQ(ExpectedTouch(Use(1000, 1001, Gaps({10, 290, 10, 300}))), 1010U);
}

TEST(OffloadPolicy, WhatHasNotRepeatedIsExpectedAfterItsLongestGap) {
  EXPECT_EQ(ExpectedTouch(Use(1000, 1001, Gaps({300, 5}))), 1300U);
}

TEST(OffloadPolicy, WhatDidNotComeWhenItWasDueMayTakeAsLongAgain) {
  EXPECT_GT(ExpectedTouch(Use(1000, 1500, Gaps({100, 100}))), 1999U);
  EXPECT_GT(ExpectedTouch(Use(1000, 1500)), 1999U) << "nothing is known of it";
}

TEST(OffloadPolicy, ByNextUseTheLatestGoesFirst) {
  const auto rank = MakeOffloadPolicy(OffloadChoice::kNextUse).rank;
  const uint64_t soon = rank(nullptr, Use(900, 1001, Gaps({110, 110})));
  const uint64_t late = rank(nullptr, Use(1000, 1001, Gaps({500, 500})));
  EXPECT_LT(late, soon) << "although it was touched a moment ago";
}

// Tests the effect of a policy on a real pool: a loop that uses more memory than the device has.
class LoopTest : public OffloadTest {
 protected:
  // Returns how often a used block was on the host. The first six of the twelve rounds do not
  // count.
  int Misses(OffloadChoice choice) {
    config_.policy = MakeOffloadPolicy(choice);
    Start(26 * kMiB);
    std::vector<uint64_t> blocks;
    for (int i = 0; i < 4; ++i) blocks.push_back(Take(6 * kMiB));
    int misses = 0;
    for (int round = 0; round < 12; ++round) {
      for (size_t i = 0; i < blocks.size(); ++i) {
        misses += round >= 6 && device_->OnHost(blocks[i]) ? 1 : 0;
        // The first block is used in each step, like weights that all steps share.
        for (const uint64_t used : {blocks[0], blocks[i]}) {
          for (int k = 0; k < 64; ++k) offloader_.Tick();
          offloader_.Touch(used);
        }
        // Each step also allocates a block of its own.
        const uint64_t own = Take(6 * kMiB);
        EXPECT_NE(own, 0U);
        Give(own);
        device_->Advance(100'000'000);
        offloader_.BringBack(kGiB);
      }
    }
    ExpectContents();
    TearDown();
    return misses;
  }
};

TEST_F(LoopTest, NextUseIsNoWorseThanTheColdest) {
  const int coldest = Misses(OffloadChoice::kColdest);
  EXPECT_GT(coldest, 0);
  EXPECT_LE(Misses(OffloadChoice::kNextUse), coldest);
}

TEST_F(OffloadTest, TouchesAreToldOnceInAWhileAndOnlyOfOurs) {
  std::vector<Event> touches;
  sink_ = {[](void* context, Event* event) -> uint64_t {
             auto* all = static_cast<std::vector<Event>*>(context);
             if (event->kind == EventKind::kTouch) all->push_back(*event);
             return all->size();
           },
           &touches};
  config_.records_touches = true;
  Start(32 * kMiB);
  EXPECT_TRUE(offloader_.tracks_touches());
  const uint64_t block = Take(4 * kMiB);
  for (int k = 0; k < 16; ++k) offloader_.Tick();
  for (int k = 0; k < 3; ++k) offloader_.Touch(block + 5);
  offloader_.Touch(7);
  ASSERT_EQ(touches.size(), 1U);
  EXPECT_EQ(touches[0].address, block + 5);
  for (int k = 0; k < 16; ++k) offloader_.Tick();
  offloader_.Touch(block);
  ASSERT_EQ(touches.size(), 2U);
  EXPECT_EQ(touches[1].object, touches[0].object + 1);
  EXPECT_EQ(offloader_.BringBack(kGiB), 0U);
  EXPECT_TRUE(offloader_.tracks_touches()) << "touches are recorded, so they are tracked";
}

}  // namespace
}  // namespace vramstow
