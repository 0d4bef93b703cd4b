// Tests that the span around an address is found without a walk over all spans of a heap.
#include <gtest/gtest.h>

#include <vector>

#include "allocator/heap/span_table.h"
#include "base/units.h"

namespace vramstow {
namespace {

constexpr uint64_t kStart = uint64_t{1} << 40;
constexpr uint64_t kBlock = 64 * kKiB;
constexpr uint32_t kBlocks = 20000;

class Spans : public testing::Test {
 protected:
  Spans() {
    EXPECT_TRUE(table_.Open(2 * kMiB, 1 * kMiB, 65536, 64));
    EXPECT_TRUE(table_.EnsureRoomForRegion());
    EXPECT_TRUE(table_.EnsureRoomForRegion());
    table_.AddFreeRegion(kStart, kBlocks * kBlock, SpanTable::kSmallZone, 0);
    for (uint32_t i = 0; i < kBlocks; ++i) {
      EXPECT_TRUE(table_.EnsureSpare(2));
      const uint32_t rest = table_.free(SpanTable::kSmallZone).Find(table_.slab(), kBlock);
      live_.push_back(table_.CutFree(rest, 0, kBlock));
      table_[live_.back()].state = SpanState::kLive;
    }
  }
  ~Spans() override { table_.Close(); }

  void LookInto(uint32_t block) {
    EXPECT_EQ(table_.FindSpan(kStart + block * kBlock + 4321), live_[block]) << block;
  }

  SpanTable table_;
  std::vector<uint32_t> live_;
};

TEST_F(Spans, AnAddressInsideABlockIsFoundInAFewSteps) {
  LookInto(kBlocks - 1);  // one walk over all of them
  const uint64_t before = table_.walked();
  for (uint32_t i = 0; i < kBlocks; ++i) LookInto(i);
  // A look-up starts at a hint, a block that an earlier look-up noted for the page. Several pages
  // share one hint. So a look-up visits only the blocks before the address in its own page, and
  // blocks of the pages that share the hint.
  EXPECT_LT(table_.walked() - before, uint64_t{kBlocks} * 64);
}

TEST_F(Spans, BlocksThatWereFreedAndTakenAgainAreFoundToo) {
  LookInto(kBlocks - 1);
  // Every second and third block joins with its neighbour, so that many records are deleted and
  // reused elsewhere.
  for (uint32_t i = 0; i + 2 < kBlocks; i += 3) {
    for (const uint32_t freed : {i + 1, i + 2}) {
      table_[live_[freed]].state = SpanState::kFree;
      live_[freed] = table_.JoinFree(live_[freed]);
    }
    live_[i + 1] = live_[i + 2];
  }
  for (uint32_t i = 0; i + 2 < kBlocks; i += 3) {
    LookInto(i);
    LookInto(i + 1);
    LookInto(i + 2);
  }
  for (uint32_t i = 0; i + 2 < kBlocks; i += 3) {
    ASSERT_TRUE(table_.EnsureSpare(2));
    const uint32_t whole = live_[i + 1];
    live_[i + 2] = table_.CutFree(whole, kBlock, kBlock);
    table_[live_[i + 2]].state = SpanState::kLive;
    live_[i + 1] = table_.FindSpan(kStart + (i + 1) * kBlock);
    LookInto(i);
    LookInto(i + 2);
  }
}

}  // namespace
}  // namespace vramstow
