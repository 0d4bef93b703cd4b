// Tests the host memory of paused or offloaded contents on a fake device: when it is released, when
// it is retained, and the state after each failure.
#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "tests/allocator/offload_fixture.h"

namespace vramstow {
namespace {

// Computes the bytes of page-locked memory from the events.
struct TracedHost {
  static uint64_t Take(void* context, Event* event) {
    auto* const traced = static_cast<TracedHost*>(context);
    const uint64_t sequence = ++traced->sequence;
    if (event->memory != MemoryKind::kHostPinned) return sequence;
    if (event->kind == EventKind::kAllocate && event->result == 0) traced->held += event->size;
    if (event->kind == EventKind::kFree) traced->frees[sequence] = event->size;
    if (event->kind == EventKind::kFree) traced->held -= event->size;
    if (event->kind == EventKind::kRefused) traced->held += traced->frees.at(event->object);
    return sequence;
  }
  uint64_t sequence = 0;
  uint64_t held = 0;
  std::map<uint64_t, uint64_t> frees;
};

class HostStockTest : public OffloadTest {
 protected:
  uint64_t HostBytes() const { return device_->pinned_bytes() + device_->host_bytes(); }
};

TEST_F(HostStockTest, WhatHeldPausedMemoryGoesBackWhenAsked) {
  Start(64 * kMiB);
  Take(10 * kMiB, 1, 7);
  for (int cycle = 0; cycle < 3; ++cycle) {
    ASSERT_EQ(Pause(7), 10 * kMiB);
    EXPECT_EQ(offloader_.ReleaseHost(0), 0U) << "it holds what is paused";
    ASSERT_EQ(Resume(), 10 * kMiB);
    EXPECT_EQ(device_->pinned_bytes(), 10 * kMiB);
    EXPECT_EQ(offloader_.ReleaseHost(0), 10 * kMiB);
    EXPECT_EQ(device_->pinned_bytes(), 0U);
    const OffloadStats stats = offloader_.Stats();
    EXPECT_EQ(stats.host_bytes, 0U);
    EXPECT_EQ(stats.offloaded_bytes, 0U);
    EXPECT_EQ(stats.released_host_bytes, (cycle + 1) * 10 * kMiB);
    EXPECT_EQ(offloader_.ReleaseHost(0), 0U);
  }
  ExpectContents();
}

TEST_F(HostStockTest, WhatHeldOffloadedMemoryGoesBackInShortSteps) {
  Start(kGiB);
  Take(300 * kMiB, 1, 7);
  uint64_t bytes = 0;
  ASSERT_EQ(offloader_.Offload(7, &bytes), OffloadResult::kDone);
  EXPECT_EQ(offloader_.ReleaseHost(0), 0U);
  Resume();
  ASSERT_EQ(device_->host_bytes(), 300 * kMiB);
  EXPECT_EQ(offloader_.ReleaseHost(0), 300 * kMiB);
  EXPECT_EQ(HostBytes(), 0U);
  ExpectContents();
}

// Page-locked memory is freed only as a whole block. So a block stays as long as one of its pieces
// contains paused contents.
TEST_F(HostStockTest, ABlockStaysAsLongAsAPieceOfItHoldsSomething) {
  Start(64 * kMiB);
  Take(10 * kMiB, 1, 7);
  ASSERT_EQ(Pause(7), 10 * kMiB);
  ASSERT_EQ(Resume(), 10 * kMiB);
  // The 4 MiB of tag 8 are copied into the existing block of page-locked memory. The contents of
  // tag 7 then need a new block as well.
  Take(4 * kMiB, 1, 8);
  ASSERT_EQ(Pause(8), 4 * kMiB);
  ASSERT_EQ(Pause(7), 10 * kMiB);
  ASSERT_EQ(device_->pinned_bytes(), 14 * kMiB);
  ASSERT_EQ(Resume(7, ~uint64_t{0}), 10 * kMiB);
  EXPECT_EQ(offloader_.ReleaseHost(0), 4 * kMiB);
  EXPECT_EQ(device_->pinned_bytes(), 10 * kMiB);
  EXPECT_EQ(offloader_.Stats().offloaded_bytes, 4 * kMiB);
  // The idle pieces of the block that stays can still be used.
  ASSERT_EQ(Resume(8, ~uint64_t{0}), 4 * kMiB);
  ASSERT_EQ(Pause(7), 10 * kMiB);
  EXPECT_EQ(device_->pinned_bytes(), 10 * kMiB);
  ASSERT_EQ(Resume(), 10 * kMiB);
  EXPECT_EQ(offloader_.ReleaseHost(0), 10 * kMiB);
  ExpectContents();
}

TEST_F(HostStockTest, WhatWasFreedWhilePausedGoesBack) {
  Start(64 * kMiB);
  const uint64_t block = Take(10 * kMiB, 1, 7);
  ASSERT_EQ(Pause(7), 10 * kMiB);
  Give(block);
  Resume();
  EXPECT_EQ(offloader_.ReleaseHost(0), 10 * kMiB);
  EXPECT_EQ(device_->pinned_bytes(), 0U);
}

TEST_F(HostStockTest, ItGoesBackByItselfOnceNothingWasMovedForLong) {
  constexpr uint64_t kDecay = 60'000'000'000;
  for (const bool pauses : {true, false}) {
    SCOPED_TRACE(pauses);
    config_.decay_ns = kDecay;
    Start(64 * kMiB);
    Take(10 * kMiB, 1, 7);
    uint64_t bytes = 0;
    const auto leave = [&] {
      return pauses ? offloader_.Pause(7, {.keep = true}, &bytes) : offloader_.Offload(7, &bytes);
    };
    ASSERT_EQ(leave(), OffloadResult::kDone);
    device_->Advance(2 * kDecay);
    ASSERT_EQ(Resume(), 10 * kMiB);
    EXPECT_EQ(offloader_.DecayHost(), 0U) << "it was used just now";
    device_->Advance(kDecay / 2);
    ASSERT_EQ(leave(), OffloadResult::kDone);
    ASSERT_EQ(Resume(), 10 * kMiB);
    device_->Advance(kDecay / 2);
    EXPECT_EQ(offloader_.DecayHost(), 0U) << "the next time came before";
    device_->Advance(kDecay / 2);
    EXPECT_EQ(offloader_.DecayHost(), 10 * kMiB);
    EXPECT_EQ(HostBytes(), 0U);
    TearDown();
  }
}

TEST_F(HostStockTest, WithoutADecayItStays) {
  Start(64 * kMiB);
  Take(10 * kMiB, 1, 7);
  ASSERT_EQ(Pause(7), 10 * kMiB);
  ASSERT_EQ(Resume(), 10 * kMiB);
  device_->Advance(3'600'000'000'000);
  EXPECT_EQ(offloader_.DecayHost(), 0U);
  EXPECT_EQ(HostBytes(), 10 * kMiB);
}

TEST_F(HostStockTest, NothingGoesWhileAStreamIsCaptured) {
  Start(64 * kMiB);
  Take(10 * kMiB, 1, 7);
  ASSERT_EQ(Pause(7), 10 * kMiB);
  ASSERT_EQ(Resume(), 10 * kMiB);
  pool_->CaptureBegins();
  EXPECT_EQ(offloader_.ReleaseHost(0), 0U);
  pool_->CaptureEnds();
  EXPECT_EQ(offloader_.ReleaseHost(0), 10 * kMiB);
}

// Host memory for pauses and host memory for offload are of different kinds. Idle memory of one
// kind must not prevent an allocation of the other kind.
TEST_F(HostStockTest, EachKindMakesRoomForTheOther) {
  Start(64 * kMiB, /*host_bytes=*/12 * kMiB);
  Take(10 * kMiB, 1, 7);
  uint64_t bytes = 0;
  for (int turn = 0; turn < 2; ++turn) {
    EXPECT_EQ(Pause(7), 10 * kMiB);
    EXPECT_EQ(Resume(), 10 * kMiB);
    EXPECT_EQ(offloader_.Offload(7, &bytes), OffloadResult::kDone);
    EXPECT_EQ(bytes, 10 * kMiB);
    EXPECT_EQ(Resume(), 10 * kMiB);
  }
  EXPECT_EQ(offloader_.Stats().released_host_bytes, 30 * kMiB);
  ExpectContents();
}

// The driver may wait for work when it frees locked memory. Meanwhile other threads allocate,
// pause, and get the same address from the driver.
TEST_F(HostStockTest, ThePoolServesWhileTheDriverFreesLockedMemory) {
  static std::function<void()> meanwhile;
  static decltype(DriverTable::host_free) host_free;
  Start(64 * kMiB, kGiB, [](DriverTable* table) {
    host_free = table->host_free;
    table->host_free = [](void* self, uint64_t address) {
      const DriverResult result = host_free(self, address);
      if (meanwhile) std::exchange(meanwhile, nullptr)();
      return result;
    };
  });
  Take(10 * kMiB, 1, 7);
  ASSERT_EQ(Pause(7), 10 * kMiB);
  ASSERT_EQ(Resume(), 10 * kMiB);
  uint64_t other = 0;
  meanwhile = [&] {
    std::thread([&] {
      other = Take(20 * kMiB);
      EXPECT_EQ(Pause(7), 10 * kMiB);
      EXPECT_EQ(offloader_.ReleaseHost(0), 0U);
    }).join();
  };
  EXPECT_EQ(offloader_.ReleaseHost(0), 10 * kMiB);
  EXPECT_NE(other, 0U);
  EXPECT_EQ(device_->pinned_bytes(), 10 * kMiB);
  ASSERT_EQ(Resume(), 10 * kMiB);
  EXPECT_EQ(offloader_.ReleaseHost(0), 10 * kMiB);
  ExpectContents();
}

// For every N, the Nth driver call of a release fails. No memory may be lost or counted wrongly,
// and memory that was not released can be used and is released later.
TEST_F(HostStockTest, EveryFailureOfGivingBackLeavesWhatCanBeUsedAndGivenBack) {
  for (const std::string call : {"host_free", "release"}) {
    for (const bool forever : {false, true}) {
      bool clean = false;
      for (uint64_t nth = 1; nth < 100 && !clean; ++nth) {
        SCOPED_TRACE(call + " " + std::to_string(nth) + (forever ? " for good" : " once"));
        TracedHost traced;
        sink_ = {TracedHost::Take, &traced};
        Start(kGiB);
        // A pause of the first block and an offload of the second one need three blocks of
        // page-locked memory, and some chunks.
        Take(600 * kMiB, 1, 7);
        Take(40 * kMiB, 1, 8);
        ASSERT_EQ(Pause(7), 600 * kMiB);
        ASSERT_EQ(Resume(), 600 * kMiB);
        uint64_t bytes = 0;
        ASSERT_EQ(offloader_.Offload(8, &bytes), OffloadResult::kDone);
        ASSERT_EQ(Resume(), 40 * kMiB);
        const uint64_t before = device_->Calls(call);
        const uint64_t held = HostBytes();
        device_->FailNth(call, nth, forever);
        const uint64_t released = offloader_.ReleaseHost(0);
        clean = device_->Calls(call) - before < nth;
        EXPECT_EQ(released == held, clean);
        device_->FailNothing();
        EXPECT_EQ(HostBytes(), held - released);
        EXPECT_EQ(offloader_.Stats().host_bytes, held - released);
        EXPECT_EQ(offloader_.Stats().offloaded_bytes, 0U);
        EXPECT_EQ(traced.held, device_->pinned_bytes());
        EXPECT_EQ(Pause(7), 600 * kMiB);
        EXPECT_EQ(device_->pinned_bytes(), 600 * kMiB);
        EXPECT_EQ(Resume(), 600 * kMiB);
        ExpectContents();
        offloader_.ReleaseHost(0);
        EXPECT_EQ(HostBytes(), 0U);
        EXPECT_EQ(traced.held, 0U);
        EXPECT_STREQ(pool_->Check(), nullptr);
        if (HasFailure()) return;
        TearDown();
      }
      EXPECT_TRUE(clean);
    }
  }
  sink_ = {};
}

}  // namespace
}  // namespace vramstow
