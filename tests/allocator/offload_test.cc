// Tests offload on a fake device: which pages are evicted and restored, and that after every
// failure every byte can still be read.
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "tests/allocator/offload_fixture.h"

namespace vramstow {
namespace {

constexpr uint64_t kChunk = 2 * kMiB;

TEST_F(OffloadTest, MoreIsAllocatedThanTheDeviceHas) {
  Start(32 * kMiB);
  for (int i = 0; i < 6; ++i) ASSERT_NE(Take(10 * kMiB), 0U) << i;
  EXPECT_EQ(pool_->Stats().allocated_bytes, 60 * kMiB);
  EXPECT_LE(pool_->Stats().reserved_bytes, 32 * kMiB);
  EXPECT_GE(offloader_.Stats().offloaded_bytes, 28 * kMiB);
  ExpectContents();
}

TEST_F(OffloadTest, TheColdestBlocksLeave) {
  Start(32 * kMiB);
  std::vector<uint64_t> blocks;
  for (int i = 0; i < 3; ++i) blocks.push_back(Take(10 * kMiB));
  for (const int i : {1, 0}) {
    for (int k = 0; k < 32; ++k) offloader_.Tick();
    // A touch of any address in a block counts as a use of the block.
    offloader_.Touch(blocks[static_cast<size_t>(i)] + 7 * kMiB + 5);
  }
  ASSERT_NE(Take(10 * kMiB), 0U);
  EXPECT_TRUE(device_->OnHost(blocks[2] + kChunk));
  EXPECT_FALSE(device_->OnHost(blocks[0] + kChunk));
  EXPECT_FALSE(device_->OnHost(blocks[1] + kChunk));
  ASSERT_NE(Take(10 * kMiB), 0U);
  EXPECT_TRUE(device_->OnHost(blocks[1] + kChunk));
  EXPECT_FALSE(device_->OnHost(blocks[0] + kChunk));
  ExpectContents();
}

TEST_F(OffloadTest, WhatIsTouchedComesBackWhenThereIsRoom) {
  Start(32 * kMiB);
  const uint64_t first = Take(14 * kMiB);
  const uint64_t second = Take(14 * kMiB);
  const uint64_t third = Take(14 * kMiB);
  EXPECT_TRUE(device_->OnHost(first));
  device_->Advance(1'000'000'000);
  Give(third);
  pool_->Trim({});
  EXPECT_EQ(offloader_.BringBack(kGiB), 0U) << "nobody touched it";
  for (int k = 0; k < 64; ++k) offloader_.Tick();
  offloader_.Touch(first);
  EXPECT_GT(offloader_.BringBack(kGiB), 0U);
  EXPECT_EQ(offloader_.Stats().offloaded_bytes, 0U);
  EXPECT_FALSE(device_->OnHost(first));
  EXPECT_FALSE(device_->OnHost(second));
  ExpectContents();
  EXPECT_EQ(offloader_.BringBack(kGiB), 0U);
  EXPECT_FALSE(offloader_.tracks_touches());
}

// Tests which pages are exchanged when the device has no room.
class ExchangeTest : public OffloadTest {
 protected:
  uint64_t OnHost(uint64_t block) { return pool_->pages()->BytesOnHost(block, live_.at(block)); }
  // Uses the blocks in turn, and lets the offloader look between the rounds.
  void UseInTurn(const std::vector<uint64_t>& blocks, int rounds) {
    for (int round = 0; round < rounds; ++round) {
      for (const uint64_t block : blocks) {
        for (int k = 0; k < 16; ++k) offloader_.Tick();
        offloader_.Touch(block);
      }
      device_->Advance(60'000'000);
      offloader_.BringBack(kGiB);
    }
  }
};

TEST_F(ExchangeTest, OfTwoModelsInTurnTheOneAtWorkIsOnTheDevice) {
  Start(32 * kMiB);
  const uint64_t one = Take(20 * kMiB);
  const uint64_t other = Take(20 * kMiB);
  ASSERT_GT(OnHost(one), 0U);
  for (int turn = 0; turn < 3; ++turn) {
    UseInTurn({one}, 20);
    EXPECT_EQ(OnHost(one), 0U) << turn;
    UseInTurn({other}, 20);
    EXPECT_EQ(OnHost(other), 0U) << turn;
  }
  ExpectContents();
}

TEST_F(ExchangeTest, InALoopOverAllMemoryNothingIsExchanged) {
  Start(32 * kMiB);
  std::vector<uint64_t> blocks;
  for (int i = 0; i < 6; ++i) blocks.push_back(Take(8 * kMiB));
  const uint64_t moved = offloader_.Stats().out_bytes;
  UseInTurn(blocks, 30);
  EXPECT_EQ(offloader_.Stats().out_bytes, moved);
  ExpectContents();
}

TEST_F(ExchangeTest, AFailureOfTheDriverLosesNothing) {
  for (uint64_t call = 1; call < 60; ++call) {
    Start(32 * kMiB);
    const uint64_t one = Take(20 * kMiB);
    const uint64_t other = Take(20 * kMiB);
    UseInTurn({one, other}, 1);
    device_->FailNth("", call, call % 2 == 0);
    UseInTurn({one}, 20);
    device_->FailNothing();
    Resume();
    ExpectContents();
    EXPECT_STREQ(pool_->Check(), nullptr) << call;
    TearDown();
  }
}

TEST_F(OffloadTest, WhatWasTouchedJustBeforeItLeftStaysAway) {
  Start(64 * kMiB);
  const uint64_t block = Take(14 * kMiB);
  offloader_.Mark(0);
  // The offloader's clock advances once in sixteen submissions. The move itself is the last one of
  // these sixteen.
  for (int k = 0; k < 15; ++k) {
    offloader_.Tick();
    offloader_.Touch(block);
  }
  uint64_t moved = 0;
  ASSERT_EQ(offloader_.Offload(0, &moved), OffloadResult::kDone);
  ASSERT_TRUE(device_->OnHost(block));
  device_->Advance(1'000'000'000);
  EXPECT_EQ(offloader_.BringBack(kGiB), 0U) << "nobody touched it since";
  for (int k = 0; k < 16; ++k) offloader_.Tick();
  offloader_.Touch(block);
  EXPECT_EQ(offloader_.BringBack(kGiB), moved);
  ExpectContents();
}

TEST_F(OffloadTest, ResumeBringsEverythingBack) {
  Start(64 * kMiB);
  for (int i = 0; i < 5; ++i) Take(6 * kMiB);
  EXPECT_GE(offloader_.MoveOut(20 * kMiB, OffloadReason::kAsked), 20 * kMiB);
  EXPECT_GE(pool_->Trim({}).released_bytes, 20 * kMiB);
  ExpectContents();
  EXPECT_GE(Resume(), 20 * kMiB);
  EXPECT_EQ(offloader_.Stats().offloaded_bytes, 0U);
  ExpectContents();
}

TEST_F(OffloadTest, AFreedBlockIsNotServedAgainFromTheHost) {
  Start(64 * kMiB);
  const uint64_t block = Take(10 * kMiB);
  offloader_.MoveOut(10 * kMiB, OffloadReason::kAsked);
  ASSERT_TRUE(device_->OnHost(block));
  Give(block);
  const uint64_t next = Take(10 * kMiB);
  for (uint64_t at = 0; at < 10 * kMiB; at += kChunk) EXPECT_FALSE(device_->OnHost(next + at));
}

TEST_F(OffloadTest, HostMemoryIsBounded) {
  Start(32 * kMiB, 8 * kMiB);
  for (int i = 0; i < 3; ++i) ASSERT_NE(Take(10 * kMiB), 0U);
  ASSERT_NE(Take(8 * kMiB), 0U);
  EXPECT_EQ(Take(16 * kMiB), 0U);
  EXPECT_LE(device_->host_bytes(), 8 * kMiB);
  ExpectContents();
}

TEST_F(OffloadTest, NothingMovesUnderWorkThatDoesNotEnd) {
  Start(32 * kMiB);
  const uint64_t block = Take(20 * kMiB);
  device_->Submit(1, block, 20 * kMiB);
  EXPECT_EQ(Take(20 * kMiB), 0U);
  EXPECT_FALSE(device_->OnHost(block));
  EXPECT_GT(offloader_.Stats().refused, 0U);
}

TEST_F(OffloadTest, NothingMovesWhileAStreamIsCaptured) {
  Start(32 * kMiB);
  const uint64_t block = Take(20 * kMiB);
  pool_->CaptureBegins();
  EXPECT_EQ(Take(20 * kMiB), 0U);
  EXPECT_FALSE(device_->OnHost(block));
  EXPECT_GT(offloader_.Stats().refused_in_capture, 0U);
  EXPECT_EQ(offloader_.Stats().refused, 0U);
  pool_->CaptureEnds();
  EXPECT_NE(Take(20 * kMiB), 0U);
  ExpectContents();
}

TEST_F(OffloadTest, WhatAnotherProcessHasStaysWhereverNeighboursLie) {
  Start(64 * kMiB);
  const uint64_t shared = Take(kMiB);
  offloader_.Mark(1'000'000'000);
  Share(shared);
  // `neighbour` lies in the same page as the shared block.
  const uint64_t neighbour = Take(kMiB / 2);
  ASSERT_EQ(neighbour / kChunk, shared / kChunk);
  Take(10 * kMiB);
  EXPECT_EQ(offloader_.MoveOut(kGiB, OffloadReason::kAsked), 10 * kMiB);
  ExpectSharedChunks();
  ExpectContents();
}

TEST_F(OffloadTest, PrivatePoolsStay) {
  Start(32 * kMiB);
  Block block{};
  const BlockRequest request{10 * kMiB, 1, 7};
  ASSERT_EQ(pool_->Allocate(request, &block), PoolError::kOk);
  EXPECT_EQ(offloader_.MoveOut(kGiB, OffloadReason::kAsked), 0U);
  EXPECT_FALSE(device_->OnHost(block.address));
  EXPECT_EQ(pool_->Free(block.address), PoolError::kOk);
  pool_->KeepPrivate(7, false);
}

TEST_F(OffloadTest, ASubmissionOnItsWayIsWaitedForAndThenHoldsNobodyUp) {
  Start(32 * kMiB);
  Take(20 * kMiB);
  gate_.Enter(3);
  EXPECT_EQ(offloader_.MoveOut(10 * kMiB, OffloadReason::kAsked), 0U);
  EXPECT_EQ(offloader_.Stats().refused, 1U);
  gate_.Leave(3);
  EXPECT_GT(offloader_.MoveOut(10 * kMiB, OffloadReason::kAsked), 0U);
  gate_.Enter(3);
  gate_.Leave(3);
  ExpectContents();
}

// For every N, the Nth driver call of a move fails, once or from then on. All data that could be
// read before can be read afterwards, and later moves work.
TEST_F(OffloadTest, EveryFailureLeavesEveryByteReadable) {
  const std::vector<std::string> calls = {"reserve",    "create_host", "map",   "set_access",
                                          "copy_start", "copy_finish", "unmap", "create"};
  for (const std::string& call : calls) {
    for (const bool forever : {false, true}) {
      bool clean = false;
      for (uint64_t nth = 1; nth < 400 && !clean; ++nth) {
        SCOPED_TRACE(call + " " + std::to_string(nth) + (forever ? " for good" : " once"));
        Start(32 * kMiB);
        for (int i = 0; i < 4; ++i) ASSERT_NE(Take(5 * kMiB), 0U);
        const uint64_t before = device_->Calls(call);
        device_->FailNth(call, nth, forever);
        offloader_.MoveOut(12 * kMiB, OffloadReason::kAsked);
        // If a move fails so that a page is mapped nowhere, the page is mapped as soon as the
        // driver allows it.
        Resume(6 * kMiB);
        clean = device_->Calls(call) - before < nth;
        device_->FailNothing();
        EXPECT_GT(offloader_.MoveOut(6 * kMiB, OffloadReason::kAsked), 0U);
        Resume();
        ExpectContents();
        EXPECT_STREQ(pool_->Check(), nullptr);
        if (HasFailure()) return;
        TearDown();
      }
      EXPECT_TRUE(clean);
    }
  }
}

// Held memory (memory that must be on the GPU) is restored while the Nth driver call fails, for
// every N. Either all of it is restored, or the result says that it is not. No data are lost, and
// the memory may move after it is no longer held.
TEST_F(OffloadTest, HeldMemoryComesBackOrIsSaidNotTo) {
  for (const std::string call :
       {"map", "set_access", "copy_start", "copy_finish", "unmap", "create"}) {
    for (const bool forever : {false, true}) {
      bool clean = false;
      for (uint64_t nth = 1; nth < 200 && !clean; ++nth) {
        SCOPED_TRACE(call + " " + std::to_string(nth) + (forever ? " for good" : " once"));
        Start(32 * kMiB);
        const uint64_t block = Take(8 * kMiB);
        for (int i = 0; i < 4; ++i) ASSERT_NE(Take(7 * kMiB), 0U);
        ASSERT_TRUE(device_->OnHost(block));
        const uint64_t before = device_->Calls(call);
        device_->FailNth(call, nth, forever);
        ASSERT_EQ(pool_->HoldChunks(block, 8 * kMiB), 8 * kMiB);
        const OffloadResult result = offloader_.ReturnHeld(block, 8 * kMiB);
        clean = device_->Calls(call) - before < nth;
        EXPECT_TRUE(!clean || result == OffloadResult::kDone);
        EXPECT_EQ(result == OffloadResult::kDone,
                  pool_->pages()->BytesOnHost(block, 8 * kMiB) == 0);
        device_->FailNothing();
        pool_->ReleaseChunks(block, 8 * kMiB);
        Resume();
        ExpectContents();
        uint64_t bytes = 0;
        EXPECT_EQ(offloader_.Offload(0, &bytes), OffloadResult::kDone);
        EXPECT_TRUE(device_->OnHost(block));
        ExpectContents();
        EXPECT_STREQ(pool_->Check(), nullptr);
        if (HasFailure()) return;
        TearDown();
      }
      EXPECT_TRUE(clean);
    }
  }
}

// Each driver call takes time, so access is given to a run of neighbours, and to the whole window
// of restored pages, not to each page. Host memory stays mapped where copies access it.
TEST_F(OffloadTest, AccessIsGivenToRunsOfPages) {
  Start(64 * kMiB);
  ASSERT_NE(Take(48 * kMiB), 0U);
  ASSERT_EQ(offloader_.MoveOut(48 * kMiB, OffloadReason::kAsked), 48 * kMiB);
  Resume();
  for (const bool out : {true, false}) {
    const uint64_t accesses = device_->Calls("set_access");
    const uint64_t slices = device_->Calls("copy_start");
    const uint64_t maps = device_->Calls("map");
    if (out) {
      EXPECT_EQ(offloader_.MoveOut(48 * kMiB, OffloadReason::kAsked), 48 * kMiB);
    } else {
      Resume();
    }
    const uint64_t times = out ? 1 : 2;  // in place, and in the window
    EXPECT_EQ(device_->Calls("map") - maps, times * 24);
    EXPECT_LE(device_->Calls("copy_start") - slices, 12U);
    EXPECT_EQ(device_->Calls("set_access") - accesses,
              times * (device_->Calls("copy_start") - slices));
  }
  ExpectContents();
}

// Shows that the tests would fail if evicted memory were not copied.
TEST_F(OffloadTest, AMoveWithoutACopyWouldBeNoticed) {
  static decltype(DriverTable::copy_start) start;
  Start(64 * kMiB, kGiB, [](DriverTable* table) {
    start = table->copy_start;
    table->copy_start = [](void* self, const DriverCopy* copies, uint32_t, uint64_t* job) {
      return start(self, copies, 0, job);
    };
  });
  const uint64_t block = Take(10 * kMiB);
  ASSERT_EQ(device_->Read(block + kChunk), expected_.at(block + kChunk));
  EXPECT_GT(offloader_.MoveOut(10 * kMiB, OffloadReason::kAsked), 0U);
  EXPECT_NE(device_->Read(block + kChunk), expected_.at(block + kChunk));
}

// The offloader moves memory in slices and closes the gate (it stops submissions of work) during
// each slice. The size of a slice follows from the time that the last slice took.
TEST_F(OffloadTest, TheGateIsClosedForNoLongerThanASliceMayTake) {
  static uint64_t bytes_per_us;
  static decltype(DriverTable::copy_start) start;
  constexpr uint64_t kBytes = 768 * kMiB;
  // The transfer rates are those of PCIe 5 and of slower connections. The first slice's size is a
  // guess, which is too large for a slow one.
  for (const uint64_t gibibytes_per_s : {50, 24, 8}) {
    bytes_per_us = gibibytes_per_s * kGiB / 1'000'000;
    Start(kGiB, kGiB, [](DriverTable* table) {
      start = table->copy_start;
      table->copy_start = [](void* self, const DriverCopy* copies, uint32_t count, uint64_t* job) {
        uint64_t bytes = 0;
        for (uint32_t i = 0; i < count; ++i) bytes += copies[i].size;
        static_cast<FakeDevice*>(self)->Advance(bytes * 1'000 / bytes_per_us);
        return start(self, copies, count, job);
      };
    });
    ASSERT_NE(Take(kBytes), 0U);
    ASSERT_EQ(offloader_.MoveOut(kBytes, OffloadReason::kAsked), kBytes);
    const OffloadStats stats = offloader_.Stats();
    EXPECT_LE(stats.longest_gate_ns, 5'000'000U) << gibibytes_per_s;
    // The gate is not closed for each page: it is closed at most twice as often as the time
    // requires, and a few times more until the right size of a slice is found.
    EXPECT_LE(stats.gate_closed, 2 * stats.gate_ns / 5'000'000 + 6) << gibibytes_per_s;
    TearDown();
  }
}

// A random program of blocks, work, touches, moves and failures.
TEST_F(OffloadTest, NoByteIsWrongAfterManySteps) {
  for (uint64_t seed = 1; seed <= 8 && !HasFailure(); ++seed) RunManySteps(seed);
}

TEST(SubmissionGate, NobodyIsInsideWhileItIsClosed) {
  SubmissionGate gate;
  std::atomic<int> inside{0};
  std::atomic<bool> stop{false};
  std::atomic<uint64_t> passed{0};
  std::vector<std::thread> threads;
  threads.reserve(3);
  for (uint32_t lane = 0; lane < 3; ++lane) {
    threads.emplace_back([&, lane] {
      while (!stop.load()) {
        gate.Enter(lane);
        inside.fetch_add(1);
        inside.fetch_sub(1);
        gate.Leave(lane);
        passed.fetch_add(1);
      }
    });
  }
  constexpr uint64_t kLong = 60'000'000'000;
  while (passed.load() == 0) std::this_thread::yield();
  for (int i = 0; i < 200; ++i) {
    ASSERT_TRUE(gate.Close(kLong));
    EXPECT_EQ(inside.load(), 0);
    EXPECT_FALSE(gate.Close(kLong)) << "it is closed already";
    gate.Open();
  }
  stop.store(true);
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace vramstow
