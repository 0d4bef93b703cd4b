// Tests on a fake device how memory that captured graphs may use is paused: it stays unless the
// caller promises that no graph is launched meanwhile, and it is then restored at the same
// addresses. Every refusal has its own result.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/allocator/offload_fixture.h"

namespace vramstow {
namespace {

constexpr uint64_t kGraphPool = 5;

class GraphPauseTest : public OffloadTest {
 protected:
  // Allocates in a private pool, as a framework does during a capture.
  uint64_t TakePrivate(uint64_t size, uint32_t tag) {
    Block block{};
    const BlockRequest request{.size = size, .stream = 1, .pool = kGraphPool, .tag = tag};
    if (pool_->Allocate(request, &block) != PoolError::kOk) return 0;
    live_[block.address] = size;
    tags_[block.address] = tag;
    Fill(block.address);
    return block.address;
  }
  uint64_t PauseWithGraphs(uint32_t tag, bool keep = true) {
    uint64_t bytes = 0;
    last_ = offloader_.Pause(tag, {.keep = keep, .graphs = true}, &bytes);
    return bytes;
  }
  void TearDown() override {
    if (device_ != nullptr) pool_->KeepPrivate(kGraphPool, false);
    OffloadTest::TearDown();
  }
};

TEST_F(GraphPauseTest, MemoryOfGraphsStaysAndThatIsTheReason) {
  Start(64 * kMiB);
  const uint64_t weights = Take(10 * kMiB, 1, 7);
  const uint64_t output = TakePrivate(10 * kMiB, 7);
  EXPECT_EQ(Pause(7), 10 * kMiB);
  EXPECT_EQ(last_, OffloadResult::kOfGraph);
  EXPECT_FALSE(device_->Accessible(weights, 1));
  EXPECT_TRUE(device_->Accessible(output, 10 * kMiB));
  EXPECT_FALSE(offloader_.refuses_graphs());
  Resume();
  uint64_t bytes = 0;
  EXPECT_EQ(offloader_.Offload(7, &bytes), OffloadResult::kOfGraph);
  EXPECT_EQ(bytes, 10 * kMiB);
  Resume();
  // The result is kDone, because nothing is left to move except memory that must stay.
  EXPECT_EQ(offloader_.Offload(Offloader::kAnyTag, &bytes), OffloadResult::kDone);
  Resume();
  ExpectContents();
}

TEST_F(GraphPauseTest, TheMemoryThatStaysForGraphsIsCounted) {
  Start(64 * kMiB);
  Take(10 * kMiB);
  EXPECT_EQ(BytesOfGraphs(pool_->pages()), 0U);
  offloader_.Pin(Take(6 * kMiB));
  const uint64_t shared = Take(4 * kMiB);
  offloader_.Pin(shared);
  ASSERT_TRUE(pool_->pages()->PinInPlace(shared, 4 * kMiB));
  EXPECT_EQ(BytesOfGraphs(pool_->pages()), 6 * kMiB);
  TakePrivate(8 * kMiB, 7);
  EXPECT_EQ(BytesOfGraphs(pool_->pages()), 14 * kMiB);
  EXPECT_EQ(PauseWithGraphs(7), 8 * kMiB);
  EXPECT_EQ(BytesOfGraphs(pool_->pages()), 6 * kMiB);
  Resume();
  ExpectContents();
}

TEST_F(GraphPauseTest, WhatOthersHaveStaysWithThatReasonAlsoIfAGraphUsesIt) {
  Start(64 * kMiB);
  const uint64_t shared = Take(10 * kMiB, 1, 7);
  Share(shared);
  offloader_.Pin(shared);
  Take(4 * kMiB, 1, 8);
  const uint64_t registered = Take(4 * kMiB, 1, 8);
  ASSERT_TRUE(pool_->pages()->PinInPlace(registered, 4 * kMiB));
  for (const bool graphs : {false, true}) {
    uint64_t bytes = 0;
    EXPECT_EQ(offloader_.Pause(7, {.keep = true, .graphs = graphs}, &bytes), OffloadResult::kHeld);
    EXPECT_EQ(bytes, 0U);
    EXPECT_EQ(offloader_.Pause(8, {.keep = true, .graphs = graphs}, &bytes), OffloadResult::kHeld);
    EXPECT_EQ(bytes, 4 * kMiB);
    EXPECT_FALSE(offloader_.refuses_graphs());
    ExpectSharedChunks();
    Resume();
  }
  ExpectContents();
}

TEST_F(GraphPauseTest, ACaptureAndWorkThatDoesNotEndAreTwoReasons) {
  Start(64 * kMiB);
  const uint64_t weights = Take(10 * kMiB, 1, 7);
  pool_->CaptureBegins();
  EXPECT_EQ(Pause(7), 0U);
  EXPECT_EQ(last_, OffloadResult::kCapturing);
  EXPECT_EQ(PauseWithGraphs(7), 0U);
  EXPECT_EQ(last_, OffloadResult::kCapturing);
  EXPECT_FALSE(offloader_.refuses_graphs()) << "nothing is paused";
  Resume();
  EXPECT_EQ(last_, OffloadResult::kCapturing);
  pool_->CaptureEnds();
  device_->Submit(1, weights, kMiB);
  EXPECT_EQ(Pause(7), 0U);
  EXPECT_EQ(last_, OffloadResult::kBusy);
  device_->FinishAll();
  EXPECT_EQ(Pause(7), 10 * kMiB);
  EXPECT_EQ(last_, OffloadResult::kDone);
  Resume();
}

// A graph writes to inputs that a captured stream used, to outputs in a private pool, and to memory
// that the private pool has cached.
TEST_F(GraphPauseTest, WhereNoGraphIsLaunchedAllOfItGoesAndComesBackAtTheSamePlace) {
  for (const bool keep : {true, false}) {
    SCOPED_TRACE(keep);
    Start(64 * kMiB);
    const uint64_t input = Take(10 * kMiB, 1, 7);
    offloader_.Pin(input);
    const uint64_t output = TakePrivate(10 * kMiB, 7);
    const uint64_t cached = TakePrivate(6 * kMiB, 7);
    const uint64_t other = Take(10 * kMiB);
    ForgetContents(cached);
    live_.erase(cached);
    ASSERT_EQ(pool_->Free(cached), PoolError::kOk);
    EXPECT_EQ(PauseWithGraphs(7, keep), 26 * kMiB);
    EXPECT_EQ(last_, OffloadResult::kDone);
    EXPECT_TRUE(offloader_.refuses_graphs());
    EXPECT_EQ(device_->created_bytes(), 10 * kMiB);
    for (const uint64_t gone : {input, output, cached}) EXPECT_FALSE(device_->Accessible(gone, 1));
    EXPECT_TRUE(device_->Accessible(other, 10 * kMiB));
    EXPECT_STREQ(pool_->Check(), nullptr);
    // While the private pool's heap is paused, it serves no request.
    const uint64_t meanwhile = TakePrivate(2 * kMiB, 7);
    EXPECT_TRUE(device_->Accessible(meanwhile, 2 * kMiB));
    EXPECT_EQ(Resume(7, 10 * kMiB), 10 * kMiB);
    EXPECT_TRUE(offloader_.refuses_graphs()) << "not all of it is there";
    EXPECT_EQ(Resume(7, ~uint64_t{0}), 16 * kMiB);
    EXPECT_EQ(last_, OffloadResult::kDone);
    EXPECT_FALSE(offloader_.refuses_graphs());
    for (const uint64_t back : {input, output}) EXPECT_TRUE(device_->Accessible(back, 10 * kMiB));
    EXPECT_TRUE(device_->Accessible(cached, 6 * kMiB));
    if (!keep) {
      for (const uint64_t back : {input, output}) Fill(back);
    }
    ExpectContents();
    EXPECT_EQ(TakePrivate(6 * kMiB, 7), cached) << "it is served from what is cached again";
    TearDown();
  }
}

TEST_F(GraphPauseTest, WhatIsFreedWhilePausedComesBackForTheGraph) {
  Start(64 * kMiB);
  const uint64_t output = TakePrivate(10 * kMiB, 7);
  ASSERT_EQ(PauseWithGraphs(7), 10 * kMiB);
  Give(output);
  EXPECT_STREQ(pool_->Check(), nullptr);
  EXPECT_TRUE(offloader_.refuses_graphs());
  EXPECT_EQ(Resume(7, ~uint64_t{0}), 10 * kMiB);
  EXPECT_TRUE(device_->Accessible(output, 10 * kMiB)) << "a launch writes to it";
  EXPECT_FALSE(offloader_.refuses_graphs());
}

TEST_F(GraphPauseTest, WhatIsLetGoWhilePausedNeedNotComeBack) {
  Start(64 * kMiB);
  const uint64_t output = TakePrivate(10 * kMiB, 7);
  const uint64_t cached = TakePrivate(6 * kMiB, 7);
  Give(cached);
  ASSERT_EQ(PauseWithGraphs(7), 16 * kMiB);
  pool_->KeepPrivate(kGraphPool, false);
  EXPECT_EQ(offloader_.Stats().paused_bytes, 10 * kMiB) << "the block may still be wanted";
  EXPECT_STREQ(pool_->Check(), nullptr);
  Give(output);
  Resume();
  EXPECT_EQ(offloader_.Stats().paused_bytes, 0U);
  EXPECT_FALSE(offloader_.refuses_graphs());
  EXPECT_EQ(offloader_.ReleaseHost(0), 16 * kMiB);
  EXPECT_STREQ(pool_->Check(), nullptr);
}

// A framework that restores a private pool to an earlier state requests blocks by their addresses
// and sets no tag.
TEST_F(GraphPauseTest, ABlockAtItsAddressIsServedFromTheTagsHeapUnlessThatIsPaused) {
  Start(64 * kMiB);
  const uint64_t output = TakePrivate(10 * kMiB, 7);
  Give(output);
  const BlockRequest request{.size = 10 * kMiB, .stream = 1, .pool = kGraphPool, .tag = 0};
  const BlockRequest elsewhere{.size = 10 * kMiB, .stream = 1, .pool = kGraphPool + 1, .tag = 7};
  Block block{};
  ASSERT_EQ(PauseWithGraphs(7), 10 * kMiB);
  EXPECT_EQ(pool_->AllocateAt(output, request, &block), PoolError::kInvalid);
  EXPECT_EQ(Resume(), 10 * kMiB);
  EXPECT_EQ(pool_->AllocateAt(output, elsewhere, &block), PoolError::kInvalid);
  ASSERT_EQ(pool_->AllocateAt(output, request, &block), PoolError::kOk);
  EXPECT_EQ(block.address, output);
  live_[output] = 10 * kMiB;
  tags_[output] = 7;
}

// At the first Resume the device lacks memory for the paused block; later it has enough.
TEST_F(GraphPauseTest, WhatComesBackWithoutRoomStaysRefused) {
  Start(32 * kMiB);
  TakePrivate(20 * kMiB, 7);
  ASSERT_EQ(PauseWithGraphs(7), 20 * kMiB);
  const uint64_t other = Take(20 * kMiB);
  EXPECT_EQ(Resume(7, ~uint64_t{0}), 0U);
  EXPECT_EQ(last_, OffloadResult::kNoRoom);
  EXPECT_TRUE(offloader_.refuses_graphs());
  Give(other);
  EXPECT_EQ(Resume(7, ~uint64_t{0}), 20 * kMiB);
  EXPECT_EQ(last_, OffloadResult::kDone);
  EXPECT_FALSE(offloader_.refuses_graphs());
  ExpectContents();
}

TEST_F(GraphPauseTest, EveryFailureLeavesWhatCanBeResumed) {
  const std::vector<std::string> calls = {"host_allocate", "reserve",    "map",
                                          "set_access",    "copy_start", "copy_finish",
                                          "unmap",         "create",     "release"};
  for (const std::string& call : calls) {
    for (const bool forever : {false, true}) {
      bool clean = false;
      for (uint64_t nth = 1; nth < 400 && !clean; ++nth) {
        SCOPED_TRACE(call + " " + std::to_string(nth) + (forever ? " for good" : " once"));
        Start(32 * kMiB);
        const uint64_t input = Take(5 * kMiB, 1, 1);
        offloader_.Pin(input);
        const uint64_t output = TakePrivate(5 * kMiB, 1);
        ASSERT_NE(Take(10 * kMiB, 1, 2), 0U);
        const uint64_t before = device_->Calls(call);
        device_->FailNth(call, nth, forever);
        PauseWithGraphs(1);
        ExpectContentsButOf({1});
        EXPECT_EQ(offloader_.refuses_graphs(), offloader_.Stats().paused_bytes != 0);
        Resume(1, 4 * kMiB);
        EXPECT_EQ(offloader_.refuses_graphs(), offloader_.Stats().paused_bytes != 0);
        EXPECT_STREQ(pool_->Check(), nullptr);
        clean = device_->Calls(call) - before < nth;
        device_->FailNothing();
        Resume();
        EXPECT_EQ(last_, OffloadResult::kDone);
        EXPECT_TRUE(device_->Accessible(input, 5 * kMiB));
        EXPECT_TRUE(device_->Accessible(output, 5 * kMiB));
        EXPECT_FALSE(offloader_.refuses_graphs());
        ExpectContents();
        EXPECT_STREQ(pool_->Check(), nullptr);
        if (HasFailure()) return;
        TearDown();
      }
      EXPECT_TRUE(clean);
    }
  }
}

}  // namespace
}  // namespace vramstow
