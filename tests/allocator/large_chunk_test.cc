// Tests chunks that back several pages: how many calls they save, that they move as a whole, and
// the state after each failure.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/allocator/offload_fixture.h"

namespace vramstow {
namespace {

class LargeChunkTest : public OffloadTest {
 protected:
  void StartLarge(uint64_t device_bytes, uint64_t large_bytes = 8 * kMiB, uint64_t part = 2) {
    large_chunk_bytes_ = large_bytes;
    large_chunk_part_ = part;
    Start(device_bytes);
  }
  // Returns the number of calls of this function, or of all functions if the name is empty.
  uint64_t CallsOf(const std::string& call) const {
    return call.empty() ? device_->AllCalls() : device_->Calls(call);
  }
  uint64_t MadeLarge() const { return device_->MadeLarger(2 * kMiB); }
  // Expects that each handle in [address, address + bytes) has this size.
  void ExpectHandles(uint64_t address, uint64_t bytes, uint64_t size) {
    for (uint64_t at = address; at < address + bytes; at += size) {
      EXPECT_EQ(device_->SizeOf(device_->HandleAt(at)), size) << at - address;
      EXPECT_EQ(device_->HandleAt(at), device_->HandleAt(at + size - 1)) << at - address;
    }
  }
};

TEST_F(LargeChunkTest, NoneIsMadeUnlessAsked) {
  StartLarge(kGiB, 0, 1);
  Take(200 * kMiB);
  Take(200 * kMiB);
  EXPECT_EQ(MadeLarge(), 0U);
  EXPECT_EQ(device_->Calls("create"), 200U);
}

TEST_F(LargeChunkTest, ALargeBlockGetsTheLargestThatFitAndSmallRemainsStaySingle) {
  StartLarge(kGiB);
  Take(64 * kMiB);  // makes a large chunk a small part of the memory
  const uint64_t creates = device_->Calls("create");
  const uint64_t maps = device_->Calls("map");
  const uint64_t accesses = device_->Calls("set_access");
  const uint64_t block = Take(30 * kMiB);
  EXPECT_EQ(device_->Calls("create") - creates, 5U);
  EXPECT_EQ(device_->Calls("map") - maps, 5U);
  EXPECT_EQ(device_->Calls("set_access") - accesses, 1U);
  ExpectHandles(block, 24 * kMiB, 8 * kMiB);
  ExpectHandles(block + 24 * kMiB, 4 * kMiB, 4 * kMiB);
  ExpectHandles(block + 28 * kMiB, 2 * kMiB, 2 * kMiB);
  EXPECT_STREQ(pool_->Check(), nullptr);
}

TEST_F(LargeChunkTest, NoneIsMoreThanItsPartOfThePool) {
  StartLarge(80 * kGiB, 64 * kMiB, 512);
  uint64_t held = 0;
  while (held < 80 * kGiB) {
    const uint64_t block = Take(512 * kMiB);
    ASSERT_NE(block, 0U);
    for (uint64_t at = block; at < block + 512 * kMiB; at += 2 * kMiB) {
      ASSERT_LE(device_->SizeOf(device_->HandleAt(at)),
                std::max(2 * kMiB, (held + 512 * kMiB) / 512));
    }
    held += 512 * kMiB;
  }
  // Without large chunks there would be 40,960 calls.
  EXPECT_LT(device_->Calls("create"), 4000U);
  EXPECT_EQ(device_->created_bytes(), 80 * kGiB);
}

TEST_F(LargeChunkTest, WhereADriverMakesNoLargeHandleSmallerOnesServe) {
  StartLarge(kGiB);
  Take(64 * kMiB);
  device_->FailNth("create", 1, /*forever=*/false, kDriverUnknown);
  const uint64_t block = Take(8 * kMiB);
  ASSERT_NE(block, 0U);
  ExpectHandles(block, 8 * kMiB, 4 * kMiB);
}

// A live block occupies a part of a large chunk. The free rest stays in the heap and serves
// requests there.
TEST_F(LargeChunkTest, OneOfWhichAPartIsInUseStaysAndItsRestServes) {
  StartLarge(96 * kMiB);
  Take(64 * kMiB);
  const uint64_t block = Take(24 * kMiB);
  ExpectHandles(block, 24 * kMiB, 8 * kMiB);
  Give(block);
  const uint64_t part = Take(2 * kMiB);
  // Another stream cannot use the rest of this chunk, because only whole chunks change streams.
  const uint64_t other = Take(24 * kMiB, 2);
  ASSERT_NE(other, 0U);
  EXPECT_EQ(pool_->Stats().reserved_bytes, 96 * kMiB);
  const uint64_t rest = Take(6 * kMiB);
  ASSERT_NE(rest, 0U);
  EXPECT_EQ(device_->HandleAt(rest), device_->HandleAt(part));
  ExpectContents();
}

TEST_F(LargeChunkTest, OneThatIsFreeMovesWholeToAnotherStreamWhenWorkHasLeftIt) {
  StartLarge(80 * kMiB);
  Take(64 * kMiB);
  const uint64_t block = Take(16 * kMiB);
  const uint64_t handle = device_->HandleAt(block);
  device_->Submit(1, block, 16 * kMiB);
  Give(block);
  EXPECT_EQ(Take(16 * kMiB, 2), 0U);
  device_->FinishAll();
  const uint64_t made = device_->MadeLarger(0);
  const uint64_t moved = Take(16 * kMiB, 2);
  ASSERT_NE(moved, 0U);
  EXPECT_TRUE(device_->HandleAt(moved) == handle || device_->HandleAt(moved + 8 * kMiB) == handle);
  EXPECT_EQ(device_->MadeLarger(0), made) << "it came as it was";
}

TEST_F(LargeChunkTest, ForBlocksThatNeedLessItIsMadeAnewAsSingleOnes) {
  StartLarge(72 * kMiB);
  Take(64 * kMiB);
  Give(Take(8 * kMiB));
  for (uint64_t stream = 2; stream < 6; ++stream) {
    const uint64_t block = Take(2 * kMiB, stream);
    ASSERT_NE(block, 0U);
    ExpectHandles(block, 2 * kMiB, 2 * kMiB);
  }
  EXPECT_EQ(pool_->Stats().reserved_bytes, 72 * kMiB);
}

TEST_F(LargeChunkTest, ATrimGivesItBackWhole) {
  StartLarge(kGiB);
  const uint64_t first = Take(64 * kMiB);
  const uint64_t block = Take(24 * kMiB);
  Give(block);
  EXPECT_EQ(pool_->Trim({.bytes = 2 * kMiB}).released_bytes, 8 * kMiB);
  EXPECT_EQ(pool_->Trim({.bytes = 16 * kMiB}).released_bytes, 16 * kMiB);
  EXPECT_EQ(device_->created_bytes(), 64 * kMiB);
  Give(first);
  pool_->Trim({});
  EXPECT_EQ(device_->created_bytes(), 0U);
}

TEST_F(LargeChunkTest, ARegisteredPageKeepsAllOfIt) {
  StartLarge(kGiB);
  Take(64 * kMiB);
  const uint64_t block = Take(16 * kMiB);
  const uint64_t handle = device_->HandleAt(block);
  pool_->RegisterChunks(block + 2 * kMiB, 4096);
  Give(block);
  pool_->Trim({});
  EXPECT_EQ(device_->created_bytes(), 72 * kMiB);
  EXPECT_EQ(device_->HandleAt(block + 2 * kMiB), handle);
  EXPECT_EQ(device_->HandleAt(block + 8 * kMiB), 0U);
  const uint64_t again = Take(8 * kMiB);
  EXPECT_EQ(device_->HandleAt(again), handle);
  uint64_t bytes = 0;
  EXPECT_EQ(offloader_.Offload(0, &bytes), OffloadResult::kHeld);
  EXPECT_EQ(device_->HandleAt(again), handle);
}

TEST_F(LargeChunkTest, AccessIsRenewedForWholeMappings) {
  StartLarge(kGiB);
  Take(64 * kMiB);
  Take(30 * kMiB);
  const uint64_t accesses = device_->Calls("set_access");
  EXPECT_EQ(pool_->RenewAccess(), kDriverSuccess);
  EXPECT_EQ(device_->Calls("set_access") - accesses, device_->Calls("create"));
}

TEST_F(LargeChunkTest, ItLeavesTheDeviceWholeAndComesBackPageByPage) {
  StartLarge(kGiB);
  Take(64 * kMiB);
  const uint64_t block = Take(16 * kMiB, 1, 7);
  const uint64_t part = block + 8 * kMiB;
  ExpectHandles(block, 16 * kMiB, 8 * kMiB);
  uint64_t bytes = 0;
  EXPECT_EQ(offloader_.Offload(7, &bytes), OffloadResult::kDone);
  EXPECT_EQ(bytes, 16 * kMiB);
  EXPECT_TRUE(device_->OnHost(block) && device_->OnHost(part));
  EXPECT_EQ(device_->created_bytes(), 64 * kMiB);
  ExpectContents();
  EXPECT_EQ(Resume(4 * kMiB), 4 * kMiB);
  EXPECT_EQ(Resume(), 12 * kMiB);
  ExpectHandles(block, 16 * kMiB, 2 * kMiB);
  ExpectContents();
}

// A cold page is evicted together with the other pages of its chunk, unless one of them must stay.
TEST_F(LargeChunkTest, PagesOfOneChunkLeaveTogetherOrNotAtAll) {
  StartLarge(kGiB);
  Take(64 * kMiB, 2);
  const uint64_t block = Take(16 * kMiB);
  Give(block);
  std::vector<uint64_t> parts;
  for (int i = 0; i < 8; ++i) parts.push_back(Take(2 * kMiB));
  ExpectHandles(block, 16 * kMiB, 8 * kMiB);
  offloader_.Pin(block + 10 * kMiB);
  EXPECT_EQ(offloader_.MoveOut(2 * kMiB, OffloadReason::kAsked) % (2 * kMiB), 0U);
  uint64_t moved = 0;
  for (const uint64_t part : parts) {
    EXPECT_EQ(device_->OnHost(part), device_->OnHost(part < block + 8 * kMiB ? block : 0));
    moved += device_->OnHost(part) ? 1 : 0;
  }
  offloader_.MoveOut(kGiB, OffloadReason::kAsked);
  for (const uint64_t part : parts) EXPECT_EQ(device_->OnHost(part), part < block + 8 * kMiB);
  ExpectContents();
  Resume();
  ExpectContents();
}

// Free pages of an evicted large chunk serve no requests while the chunk is in host memory.
TEST_F(LargeChunkTest, FreePagesThatWentAlongAreGivenUp) {
  StartLarge(kGiB);
  Take(64 * kMiB, 2);
  const uint64_t block = Take(8 * kMiB, 1, 7);
  Give(block);
  const uint64_t part = Take(2 * kMiB, 1, 7);
  for (const bool pause : {false, true}) {
    uint64_t bytes = 0;
    EXPECT_EQ(pause ? offloader_.Pause(7, {.keep = true}, &bytes) : offloader_.Offload(7, &bytes),
              OffloadResult::kDone);
    EXPECT_EQ(device_->created_bytes(), 64 * kMiB);
    EXPECT_STREQ(pool_->Check(), nullptr);
    const uint64_t meanwhile = Take(2 * kMiB, 1, 7);
    ASSERT_NE(meanwhile, 0U);
    EXPECT_FALSE(device_->OnHost(meanwhile));
    Resume();
    ExpectContents();
    EXPECT_FALSE(device_->OnHost(part));
    Give(meanwhile);
    pool_->Trim({});
  }
}

// A large chunk stays if single chunks cannot be mapped in its place, for instance because the
// process has too many mappings. This holds even if the first attempt to map the large chunk again
// fails.
TEST_F(LargeChunkTest, WhatCannotBeReplacedWholeStaysWhole) {
  static decltype(DriverTable::map) map;
  static uint64_t from;
  static uint64_t to;
  static int refused_whole;
  from = to = 0;
  refused_whole = 0;
  large_chunk_bytes_ = 8 * kMiB;
  Start(kGiB, kGiB, [](DriverTable* table) {
    map = table->map;
    table->map = [](void* self, uint64_t address, uint64_t size, uint64_t handle) -> DriverResult {
      const bool within = address < to && from < address + size;
      const bool refused = within && (size == 2 * kMiB || refused_whole++ == 0);
      return refused ? kDriverOutOfMemory : map(self, address, size, handle);
    };
  });
  Take(64 * kMiB);
  const uint64_t block = Take(16 * kMiB, 1, 7);
  const uint64_t handle = device_->HandleAt(block + 8 * kMiB);
  from = block + 12 * kMiB;
  to = block + 14 * kMiB;
  uint64_t bytes = 0;
  EXPECT_EQ(offloader_.Offload(7, &bytes), OffloadResult::kNoRoom);
  EXPECT_EQ(bytes, 8 * kMiB);
  EXPECT_TRUE(device_->OnHost(block));
  EXPECT_EQ(refused_whole, 2);
  EXPECT_EQ(device_->HandleAt(block + 8 * kMiB), handle);
  EXPECT_TRUE(device_->Accessible(block, 16 * kMiB));
  ExpectContents();
  from = to = 0;
  EXPECT_EQ(offloader_.Offload(7, &bytes), OffloadResult::kDone);
  EXPECT_TRUE(device_->OnHost(block + 8 * kMiB));
  ExpectContents();
}

// --- Failures ------------------------------------------------------------------------------------

// For every N, the Nth driver call fails, once or from then on. Meanwhile blocks are allocated,
// moved to another stream, rebuilt from single chunks, and freed.
TEST_F(LargeChunkTest, EveryFailureOfThePoolIsRolledBack) {
  for (const std::string call : {"create", "map", "set_access", "unmap", "release", ""}) {
    for (const bool forever : {false, true}) {
      bool clean = false;
      for (uint64_t nth = 1; nth < 400 && !clean; ++nth) {
        SCOPED_TRACE(call + " " + std::to_string(nth) + (forever ? " for good" : " once"));
        StartLarge(96 * kMiB);
        ASSERT_NE(Take(32 * kMiB), 0U);
        const uint64_t before = CallsOf(call);
        device_->FailNth(call, nth, forever, kDriverUnknown);
        const uint64_t block = Take(30 * kMiB);
        const uint64_t second = Take(30 * kMiB);
        if (block != 0) Give(block);
        Take(12 * kMiB, 2);  // whole chunks
        Take(2 * kMiB, 3);   // and one that is replaced by single chunks
        if (second != 0) Give(second);
        pool_->Trim({.bytes = 6 * kMiB});
        Take(26 * kMiB, 4);
        clean = CallsOf(call) - before < nth;
        EXPECT_STREQ(pool_->Check(), nullptr);
        ExpectContents();
        device_->FailNothing();
        const uint64_t left = 96 * kMiB - pool_->Stats().allocated_bytes;
        EXPECT_NE(Take(left / 2 / (2 * kMiB) * (2 * kMiB), 1), 0U);
        EXPECT_STREQ(pool_->Check(), nullptr);
        ExpectContents();
        EXPECT_TRUE(device_->violations().empty());
        if (HasFailure()) return;
        TearDown();
      }
      EXPECT_TRUE(clean) << call;
    }
  }
}

TEST_F(LargeChunkTest, EveryFailureOfAMoveLeavesEveryByteReadable) {
  for (const std::string call : {"reserve", "create_host", "map", "set_access", "copy_start",
                                 "copy_finish", "unmap", "create", "release", ""}) {
    for (const bool forever : {false, true}) {
      bool clean = false;
      for (uint64_t nth = 1; nth < 400 && !clean; ++nth) {
        SCOPED_TRACE(call + " " + std::to_string(nth) + (forever ? " for good" : " once"));
        StartLarge(64 * kMiB);
        for (int i = 0; i < 4; ++i) ASSERT_NE(Take(15 * kMiB), 0U);
        ASSERT_GT(MadeLarge(), 5U);
        const uint64_t before = CallsOf(call);
        device_->FailNth(call, nth, forever, kDriverUnknown);
        offloader_.MoveOut(30 * kMiB, OffloadReason::kAsked);
        Resume(12 * kMiB);
        clean = CallsOf(call) - before < nth;
        device_->FailNothing();
        EXPECT_GT(offloader_.MoveOut(12 * kMiB, OffloadReason::kAsked), 0U);
        Resume();
        ExpectContents();
        EXPECT_STREQ(pool_->Check(), nullptr);
        if (HasFailure()) return;
        TearDown();
      }
      EXPECT_TRUE(clean) << call;
    }
  }
}

TEST_F(LargeChunkTest, EveryFailureOfAPauseLeavesWhatCanBeResumed) {
  for (const std::string call : {"host_allocate", "reserve", "map", "set_access", "copy_start",
                                 "copy_finish", "unmap", "create", "release", ""}) {
    for (const bool keep : {true, false}) {
      bool clean = false;
      for (uint64_t nth = 1; nth < 400 && !clean; ++nth) {
        SCOPED_TRACE(call + " " + std::to_string(nth) + (keep ? "" : ", given up"));
        StartLarge(64 * kMiB);
        ASSERT_NE(Take(16 * kMiB), 0U);
        const uint64_t paused = Take(22 * kMiB, 1, 7);
        ASSERT_GT(MadeLarge(), 2U);
        if (!keep) ForgetContents(paused);
        const uint64_t before = CallsOf(call);
        device_->FailNth(call, nth, /*forever=*/nth % 2 == 0, kDriverUnknown);
        Pause(7, keep);
        ExpectContentsButOf({7});
        Resume(7, 8 * kMiB);
        EXPECT_STREQ(pool_->Check(), nullptr);
        clean = CallsOf(call) - before < nth;
        device_->FailNothing();
        Resume();
        EXPECT_EQ(last_, OffloadResult::kDone);
        EXPECT_TRUE(device_->Accessible(paused, 22 * kMiB));
        ExpectContents();
        EXPECT_EQ(offloader_.Stats().paused_bytes, 0U);
        if (HasFailure()) return;
        TearDown();
      }
      EXPECT_TRUE(clean) << call;
    }
  }
}

TEST_F(LargeChunkTest, NoByteIsWrongAfterManySteps) {
  large_chunk_bytes_ = 16 * kMiB;
  for (uint64_t seed = 1; seed <= 8 && !HasFailure(); ++seed) RunManySteps(seed);
}

}  // namespace
}  // namespace vramstow
