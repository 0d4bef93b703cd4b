// Tests more streams than the pool has timelines and heaps. The last one is served like the first:
// from a heap of its own, whose memory it can reuse at once, and without an event of the whole
// context. Memory that work of a destroyed stream may still touch is not reused.
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "allocator/pool/pool.h"
#include "base/units.h"
#include "tests/allocator/fake_device.h"

namespace vramstow {
namespace {

constexpr uint64_t kMany = 2'000;
constexpr uint64_t kFirst = 0x1000;  // name of a stream
constexpr uint64_t kSize = 4 * kMiB;

class PoolStreams : public testing::Test {
 protected:
  PoolStreams() : device_(Options()) {
    config_.last_wait_ns = 1'000'000;
    EXPECT_EQ(pool_->Open(device_.table(), config_), PoolError::kOk);
  }
  ~PoolStreams() override {
    EXPECT_EQ(pool_->Check(), nullptr);
    EXPECT_EQ(pool_->Stats().live_blocks, 0U);
    device_.FinishAll();
    pool_->Close(PoolEnd::kAlive);
    for (const std::string& each : device_.violations()) ADD_FAILURE() << each;
    EXPECT_EQ(device_.created_bytes(), 0U);
    EXPECT_EQ(device_.events_alive(), 0U);
  }

  static FakeDevice::Options Options() {
    FakeDevice::Options options;
    options.total_bytes = 4 * kGiB;
    options.names_end = true;
    return options;
  }

  // Allocates a block; its address is null if the allocation failed.
  Block Take(uint64_t stream, uint64_t pool = 0, uint64_t size = kSize) {
    Block block{};
    const BlockRequest request{size, stream, pool, Layer::kFramework};
    if (pool_->Allocate(request, &block) != PoolError::kOk) return {};
    EXPECT_FALSE(device_.Touched(block.address, block.size, stream)) << "handed out too early";
    return block;
  }
  void Give(const Block& block) { EXPECT_EQ(pool_->Free(block.address), PoolError::kOk); }
  void Destroy(uint64_t stream) {
    pool_->StreamDestroyed(stream);
    device_.DestroyStream(stream);
  }
  // Destroys a stream while its work still touches a block.
  void UseAndDestroy(uint64_t stream) {
    const Block block = Take(stream);
    ASSERT_NE(block.address, 0U);
    device_.Submit(stream, block.address, block.size);
    Give(block);
    Destroy(stream);
  }
  // True if the stream's order of work protects its memory, so that a freed block can be reused at
  // once. For this the stream needs a heap and a timeline (an entry of Fences) of its own.
  bool HasItsOwn(uint64_t stream) {
    const Block block = Take(stream);
    device_.Submit(stream, block.address, block.size);
    Give(block);
    const Block again = Take(stream);
    device_.Finish(stream);
    Give(again);
    return again.served == Served::kHit && again.address == block.address;
  }

  FakeDevice device_;
  PoolConfig config_;
  std::unique_ptr<Pool> pool_ = std::make_unique<Pool>();
};

TEST_F(PoolStreams, TheLastOfManyHasATimelineAndAHeapOfItsOwn) {
  for (uint64_t stream = kFirst; stream < kFirst + kMany; ++stream) {
    UseAndDestroy(stream);
    device_.Finish(stream);
  }
  EXPECT_TRUE(HasItsOwn(kFirst + kMany));
  EXPECT_EQ(device_.Calls("event_record_all"), 0U);
}

TEST_F(PoolStreams, MemoryOfStreamsThatAreGoneIsUsedAgain) {
  for (uint64_t stream = kFirst; stream < kFirst + kMany; ++stream) {
    UseAndDestroy(stream);
    device_.Finish(stream);
  }
  EXPECT_LE(pool_->Stats().peak_reserved_bytes, Fences::kMaxTimelines * kSize);
  // This block uses all the memory that the destroyed streams left.
  pool_->SetLimit(pool_->Stats().reserved_bytes);
  const Block all = Take(kFirst + kMany, 0, pool_->Stats().reserved_bytes);
  EXPECT_NE(all.address, 0U);
  EXPECT_EQ(device_.Calls("event_record_all"), 0U);
  Give(all);
}

TEST_F(PoolStreams, AStreamThatIsGoneIsNeverNamed) {
  const Block used = Take(kFirst);
  for (uint64_t stream = kFirst + 1; stream < kFirst + 10; ++stream) {
    ASSERT_EQ(pool_->RecordUse(used.address, stream), PoolError::kOk);
    device_.Submit(stream, used.address, used.size);
    Destroy(stream);
  }
  Give(used);
  const Block other = Take(kFirst);
  EXPECT_NE(other.address, used.address) << "it waits for the nine";
  device_.FinishAll();
  const Block again = Take(kFirst);
  EXPECT_EQ(again.address, used.address);
  Give(other);
  Give(again);
}

// The stream belonged to a green context that was destroyed: its handle still exists, but it can do
// nothing more.
TEST_F(PoolStreams, WhatADetachedStreamDidIsCoveredByItsContext) {
  const Block used = Take(kFirst);
  ASSERT_EQ(pool_->RecordUse(used.address, kFirst + 1), PoolError::kOk);
  device_.Submit(kFirst + 1, used.address, used.size);
  device_.FailNth("event_record", 1, /*forever=*/true, kDriverStreamDetached);
  Give(used);
  const Block other = Take(kFirst);
  EXPECT_NE(other.address, used.address) << "it waits for the other stream";
  device_.FinishAll();
  const Block again = Take(kFirst);
  EXPECT_EQ(again.address, used.address);
  Give(other);
  Give(again);
}

TEST_F(PoolStreams, BlocksMayOutliveTheirStreams) {
  std::vector<Block> blocks;
  for (uint64_t stream = kFirst; stream < kFirst + kMany; ++stream) {
    blocks.push_back(Take(stream, 0, 512));
    ASSERT_NE(blocks.back().address, 0U);
    device_.Submit(stream, blocks.back().address, 512);
    Destroy(stream);
    device_.Finish(stream);
  }
  for (const Block& block : blocks) Give(block);
  EXPECT_TRUE(HasItsOwn(kFirst + kMany));
}

TEST_F(PoolStreams, WhatWorkStillTouchesIsNotTaken) {
  for (uint64_t stream = kFirst; stream < kFirst + Fences::kMaxTimelines; ++stream) {
    UseAndDestroy(stream);
  }
  // All timelines still belong to unfinished work, so the next stream gets no timeline. Freed
  // memory of such a stream is reused only after all work of the context has finished, which is
  // safe.
  EXPECT_FALSE(HasItsOwn(1));
  Destroy(1);
  device_.FinishAll();
  EXPECT_TRUE(HasItsOwn(2));
  EXPECT_TRUE(HasItsOwn(1)) << "the name of a stream that had no timeline";
}

TEST_F(PoolStreams, AWaitForTheContextDoesNotCoverStreamsOfAnotherOne) {
  constexpr uint64_t kOwn = kFirst;
  constexpr uint64_t kForeign = kFirst + 1;
  device_.MakeForeign(kForeign);
  const Block block = Take(kOwn);
  ASSERT_EQ(pool_->RecordUse(block.address, kForeign), PoolError::kOk);
  device_.Submit(kForeign, block.address, block.size);
  Give(block);
  pool_->Synchronize();
  const Block other = Take(kOwn);  // fails if work of the foreign stream still touches the block
  EXPECT_NE(other.address, block.address);
  device_.Finish(kForeign);
  pool_->Synchronize();
  const Block again = Take(kOwn);
  EXPECT_EQ(again.address, block.address);
  Give(other);
  Give(again);
}

TEST_F(PoolStreams, AStreamThatComesBackKeepsItsTimeline) {
  UseAndDestroy(kFirst);
  device_.RenameStream(kFirst, 1);
  pool_->StreamCreated(kFirst);
  for (uint64_t stream = kFirst + 1; stream < kFirst + kMany; ++stream) {
    UseAndDestroy(stream);
    device_.Finish(stream);
  }
  EXPECT_EQ(Take(kFirst).address, 0U) << "the earlier stream's work goes on";
  device_.FinishAll();
  EXPECT_TRUE(HasItsOwn(kFirst));
}

TEST_F(PoolStreams, WhatIsFreedAfterTheEndIsNotTheNextStreamsAtOnce) {
  const Block block = Take(kFirst);
  device_.Submit(kFirst, block.address, block.size);
  pool_->StreamDestroyed(kFirst);
  device_.RenameStream(kFirst, 1);
  pool_->StreamCreated(kFirst);
  Give(block);
  const Block other = Take(kFirst);  // checks that it is not reused too early
  if (other.address != 0) Give(other);
}

TEST_F(PoolStreams, AStreamThatCouldNotBeDestroyedGoesOn) {
  Give(Take(kFirst));
  pool_->StreamDestroyed(kFirst);
  pool_->StreamCreated(kFirst);
  const Block block = Take(kFirst);
  device_.Submit(kFirst, block.address, block.size);
  Give(block);
  const Block other = Take(2);  // a block of another stream, which the work does not touch
  Give(other);
  EXPECT_TRUE(HasItsOwn(kFirst));
}

TEST_F(PoolStreams, TheDefaultStreamAlwaysHasATimeline) {
  for (uint64_t stream = kFirst; stream < kFirst + Fences::kMaxTimelines; ++stream) {
    Give(Take(stream));
  }
  EXPECT_TRUE(HasItsOwn(0));
}

TEST_F(PoolStreams, ManyPrivatePoolsLeaveRoomForTheLast) {
  for (uint64_t pool = 1; pool <= kMany; ++pool) {
    const Block block = Take(kFirst, pool);
    ASSERT_NE(block.address, 0U);
    EXPECT_NE(pool_->Mapped(pool).large, 0U) << "pool " << pool << " has no heap of its own";
    Give(block);
    pool_->KeepPrivate(pool, false);
  }
}

TEST_F(PoolStreams, APrivatePoolThatIsKeptIsNotTaken) {
  const Block kept = Take(kFirst, 1);
  Give(kept);
  Destroy(kFirst);
  for (uint64_t stream = kFirst + 1; stream < kFirst + kMany; ++stream)
    UseAndDestroy(stream), device_.Finish(stream);
  pool_->Trim({});
  EXPECT_TRUE(device_.Accessible(kept.address, kept.size)) << "a graph may write there";
  pool_->KeepPrivate(1, false);
  pool_->Trim({});
  EXPECT_FALSE(device_.Accessible(kept.address, kept.size));
}

// --- Failures ------------------------------------------------------------------------------------

struct Faulty {
  const char* call;
  bool context_events;
};

class PoolStreamFaults : public testing::TestWithParam<Faulty> {};

// Uses three hundred streams one after the other, some with the handle of an earlier one, while a
// call fails.
void RunWithFault(const Faulty& faulty, uint64_t nth, bool forever) {
  FakeDevice::Options options;
  options.total_bytes = 4 * kGiB;
  options.context_events = faulty.context_events;
  FakeDevice device(options);
  PoolConfig config;
  config.last_wait_ns = 1'000'000;
  auto pool = std::make_unique<Pool>();
  ASSERT_EQ(pool->Open(device.table(), config), PoolError::kOk);
  device.FailNth(faulty.call, nth, forever);
  uint64_t ghosts = 1;
  for (uint64_t i = 0; i < Fences::kMaxTimelines + 50; ++i) {
    const uint64_t stream = kFirst + (i % 7 == 0 ? 0 : i);
    pool->StreamCreated(stream);
    pool->NoteStream(stream);
    Block block{};
    if (pool->Allocate({kSize, stream}, &block) == PoolError::kOk) {
      EXPECT_FALSE(device.Touched(block.address, block.size, stream)) << "handed out too early";
      device.Submit(stream, block.address, block.size);
      EXPECT_EQ(pool->Free(block.address), PoolError::kOk);
    }
    pool->StreamDestroyed(stream);
    device.RenameStream(stream, ghosts++);
    if (i % 3 == 0) device.Finish(ghosts / 2);
  }
  EXPECT_EQ(pool->Check(), nullptr);
  device.FailNothing();
  device.FinishAll();
  EXPECT_EQ(pool->Synchronize(), kDriverSuccess);
  pool->Trim({});
  EXPECT_EQ(pool->Stats().reserved_bytes, 0U);
  pool->Close(PoolEnd::kAlive);
  for (const std::string& each : device.violations()) ADD_FAILURE() << each;
  EXPECT_EQ(device.created_bytes() + device.events_alive(), 0U);
}

TEST_P(PoolStreamFaults, AnEventThatFailsLosesNothing) {
  for (const uint64_t nth : {1, 2, 200, 260}) {
    for (const bool forever : {false, true}) {
      SCOPED_TRACE(std::to_string(nth) + (forever ? " and all after it" : ""));
      RunWithFault(GetParam(), nth, forever);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(, PoolStreamFaults,
                         testing::Values(Faulty{"event_create", true}, Faulty{"event_record", true},
                                         Faulty{"event_record_all", true},
                                         Faulty{"event_query", true}, Faulty{"event_record", false},
                                         Faulty{"synchronize", false},
                                         Faulty{"relax_capture", true}),
                         [](const testing::TestParamInfo<Faulty>& one) {
                           return one.param.call +
                                  std::string(one.param.context_events ? "" : "_alone");
                         });

// Free memory in the stream's own heap is served without a wait, however often its chunks have
// moved while earlier work is unfinished. After such moves two pages may wait for the same chunk.
TEST(PoolOwnStream, FreeMemoryIsServedWhileNoWorkEnds) {
  constexpr uint64_t kTotal = 48 * kMiB;
  for (uint64_t seed = 0; seed < 40; ++seed) {
    SCOPED_TRACE(seed);
    FakeDevice device({.total_bytes = kTotal});
    Pool pool;
    PoolConfig config;
    config.check = true;
    config.last_wait_ns = 1'000'000;
    ASSERT_EQ(pool.Open(device.table(), config), PoolError::kOk);
    std::mt19937_64 random(seed);
    std::vector<Block> live;
    uint64_t bytes = 0;
    for (int step = 0; step < 400; ++step) {
      const uint64_t size = (1 + random() % 8) * 2 * kMiB;
      while (bytes + size > kTotal) {
        const size_t victim = random() % live.size();
        EXPECT_EQ(pool.Free(live[victim].address), PoolError::kOk);
        bytes -= live[victim].size;
        live.erase(live.begin() + static_cast<std::ptrdiff_t>(victim));
      }
      Block block{};
      ASSERT_EQ(pool.Allocate({.size = size, .stream = 1}, &block), PoolError::kOk) << step;
      device.Submit(1, block.address, block.size);
      live.push_back(block);
      bytes += block.size;
    }
    for (const Block& block : live) EXPECT_EQ(pool.Free(block.address), PoolError::kOk);
    device.FinishAll();
    pool.Close(PoolEnd::kAlive);
    for (const std::string& each : device.violations()) ADD_FAILURE() << each;
  }
}

}  // namespace
}  // namespace vramstow
