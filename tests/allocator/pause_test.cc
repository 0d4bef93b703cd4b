// Tests the requests to an offloader on a fake device: offload, pause and resume by tag, offload of
// idle memory, and the state after each failure.
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "tests/allocator/offload_fixture.h"

namespace vramstow {
namespace {

TEST_F(OffloadTest, ATagsBlocksLeaveAndReturnTogether) {
  Start(64 * kMiB);
  const uint64_t weights = Take(10 * kMiB, 1, 7);
  const uint64_t bias = Take(3000, 1, 7);
  const uint64_t other = Take(10 * kMiB);
  const uint64_t small = Take(3000);
  uint64_t bytes = 0;
  EXPECT_EQ(offloader_.Offload(7, &bytes), OffloadResult::kDone);
  EXPECT_EQ(bytes, 12 * kMiB);
  EXPECT_TRUE(device_->OnHost(weights));
  EXPECT_TRUE(device_->OnHost(bias));
  EXPECT_FALSE(device_->OnHost(other));
  EXPECT_FALSE(device_->OnHost(small));
  // The pause has released the memory to the device.
  EXPECT_EQ(device_->created_bytes(), 12 * kMiB);
  ExpectContents();
  EXPECT_EQ(Resume(7, ~uint64_t{0}), 12 * kMiB);
  EXPECT_EQ(last_, OffloadResult::kDone);
  EXPECT_FALSE(device_->OnHost(weights));
  ExpectContents();
}

TEST_F(OffloadTest, PausedMemoryIsGoneFromTheDeviceAndComesBackAsItWas) {
  Start(64 * kMiB);
  const uint64_t weights = Take(10 * kMiB, 1, 7);
  const uint64_t other = Take(10 * kMiB);
  EXPECT_EQ(Pause(7), 10 * kMiB);
  EXPECT_EQ(last_, OffloadResult::kDone);
  EXPECT_FALSE(device_->Accessible(weights, 1));
  EXPECT_TRUE(device_->Accessible(other, 10 * kMiB));
  EXPECT_EQ(device_->created_bytes(), 10 * kMiB);
  EXPECT_EQ(offloader_.Stats().paused_bytes, 10 * kMiB);
  EXPECT_EQ(offloader_.Stats().offloaded_bytes, 10 * kMiB);
  EXPECT_STREQ(pool_->Check(), nullptr);
  EXPECT_EQ(Resume(7, ~uint64_t{0}), 10 * kMiB);
  ExpectContents();
  EXPECT_EQ(offloader_.Stats().paused_bytes, 0U);
  // The page-locked memory is retained and used again by the next pause.
  EXPECT_EQ(device_->pinned_bytes(), 10 * kMiB);
  EXPECT_EQ(Pause(7), 10 * kMiB);
  EXPECT_EQ(device_->pinned_bytes(), 10 * kMiB);
  EXPECT_EQ(Resume(), 10 * kMiB);
  ExpectContents();
}

TEST_F(OffloadTest, MemoryInfoCountsWhatLiesElsewhereAsFree) {
  Start(64 * kMiB);
  Take(20 * kMiB, 1, 7);
  Take(20 * kMiB, 1, 8);
  Take(10 * kMiB);
  const auto free_bytes = [this] {
    uint64_t free = 0;
    uint64_t total = 0;
    EXPECT_EQ(pool_->MemoryInfo(&free, &total), kDriverSuccess);
    return free;
  };
  EXPECT_EQ(free_bytes(), 14 * kMiB);
  Pause(7);
  EXPECT_EQ(free_bytes(), 34 * kMiB);
  Pause(8, /*keep=*/false);
  EXPECT_EQ(free_bytes(), 54 * kMiB);
  offloader_.MoveOut(10 * kMiB, OffloadReason::kAsked);
  EXPECT_EQ(free_bytes(), 64 * kMiB);
  Resume();
  EXPECT_EQ(free_bytes(), 14 * kMiB);
}

TEST_F(OffloadTest, PauseNeedsNoMappingOfHostMemory) {
  Start(64 * kMiB, kGiB, nullptr, /*maps_host=*/false);
  const uint64_t weights = Take(10 * kMiB, 1, 7);
  uint64_t bytes = 0;
  EXPECT_EQ(offloader_.Offload(7, &bytes), OffloadResult::kNotThere);
  EXPECT_EQ(offloader_.OffloadIdle(kGiB, ~uint32_t{0}, &bytes), OffloadResult::kNotThere);
  EXPECT_EQ(Pause(7), 10 * kMiB);
  EXPECT_FALSE(device_->Accessible(weights, 1));
  EXPECT_EQ(Resume(7, ~uint64_t{0}), 10 * kMiB);
  ExpectContents();
}

TEST_F(OffloadTest, WhatIsGivenUpTakesNoHostMemory) {
  Start(64 * kMiB, 0);
  const uint64_t cache = Take(10 * kMiB, 1, 7);
  EXPECT_EQ(Pause(7), 0U) << "no host memory is allowed";
  EXPECT_EQ(last_, OffloadResult::kNoRoom);
  EXPECT_TRUE(device_->Accessible(cache, 10 * kMiB));
  EXPECT_EQ(Pause(7, /*keep=*/false), 10 * kMiB);
  EXPECT_EQ(last_, OffloadResult::kDone);
  EXPECT_EQ(device_->pinned_bytes() + device_->host_bytes() + device_->created_bytes(), 0U);
  EXPECT_EQ(Resume(7, ~uint64_t{0}), 10 * kMiB);
  Fill(cache);
  ExpectContents();
}

TEST_F(OffloadTest, WhatIsAllocatedWhileItsTagIsPausedLiesInMemory) {
  Start(64 * kMiB);
  std::vector<uint64_t> blocks;
  for (int i = 0; i < 64; ++i) blocks.push_back(Take(40'000, 1, 7));
  // The frees in this loop leave free pieces between the blocks, on pages that will be paused.
  for (size_t i = 0; i < blocks.size(); i += 2) Give(blocks[i]);
  EXPECT_GT(Pause(7), 0U);
  const uint64_t meanwhile = Take(40'000, 1, 7);
  ASSERT_TRUE(device_->Accessible(meanwhile, 40'000));
  // Blocks may also be freed while they are paused.
  for (size_t i = 1; i < blocks.size(); i += 4) Give(blocks[i]);
  EXPECT_STREQ(pool_->Check(), nullptr);
  EXPECT_GT(Resume(7, ~uint64_t{0}), 0U);
  ExpectContents();
  for (int i = 0; i < 64; ++i) ASSERT_NE(Take(40'000, 1, 7), 0U);
  ExpectContents();
  EXPECT_GT(Pause(7), 0U);
  EXPECT_TRUE(device_->Accessible(meanwhile, 40'000));
  Resume();
  ExpectContents();
}

TEST_F(OffloadTest, ResumingTakesWhatIsCachedAndSaysWhatLacks) {
  Start(32 * kMiB);
  Take(20 * kMiB, 1, 7);
  EXPECT_EQ(Pause(7), 20 * kMiB);
  const uint64_t other = Take(20 * kMiB);
  EXPECT_EQ(Resume(7, ~uint64_t{0}), 0U) << "a part of it would be of no use";
  EXPECT_EQ(last_, OffloadResult::kNoRoom);
  EXPECT_EQ(offloader_.Stats().paused_bytes, 20 * kMiB);
  EXPECT_EQ(offloader_.Stats().lacking_bytes, 8 * kMiB);
  // The tag is still paused, so this block must not lie on paused pages.
  const uint64_t meanwhile = Take(12 * kMiB, 1, 7);
  ASSERT_NE(meanwhile, 0U) << "the room is not taken";
  EXPECT_EQ(Resume(7, ~uint64_t{0}), 0U);
  EXPECT_EQ(offloader_.Stats().lacking_bytes, 20 * kMiB);
  Give(other);
  EXPECT_EQ(Resume(7, ~uint64_t{0}), 20 * kMiB);
  EXPECT_EQ(last_, OffloadResult::kDone);
  EXPECT_EQ(offloader_.Stats().lacking_bytes, 0U);
  ExpectContents();
}

TEST_F(OffloadTest, OfAllRegionsThoseComeBackForWhichThereIsRoom) {
  Start(32 * kMiB);
  for (const uint32_t tag : {3, 7, 9}) Take(tag == 7 ? 20 * kMiB : 4 * kMiB, 1, tag);
  for (const uint32_t tag : {3, 7, 9}) ASSERT_NE(Pause(tag), 0U);
  const uint64_t other = Take(20 * kMiB);
  EXPECT_EQ(Resume(), 8 * kMiB);
  EXPECT_EQ(last_, OffloadResult::kNoRoom);
  EXPECT_EQ(offloader_.Stats().paused_bytes, 20 * kMiB);
  EXPECT_EQ(offloader_.Stats().lacking_bytes, 12 * kMiB);
  Give(other);
  EXPECT_EQ(Resume(), 20 * kMiB);
  ExpectContents();
}

// Another process uses the device's memory while a tag is paused. In the second part it allocates
// the memory during the resume.
TEST_F(OffloadTest, AResumeOnACardThatOthersFilledCanFinishLater) {
  Start(64 * kMiB);
  Take(40 * kMiB, 1, 7);
  ASSERT_EQ(Pause(7), 40 * kMiB);
  device_->SetForeignBytes(30 * kMiB);
  EXPECT_EQ(Resume(7, ~uint64_t{0}), 0U);
  EXPECT_EQ(last_, OffloadResult::kNoRoom);
  EXPECT_EQ(device_->created_bytes(), 0U) << "others may have it";
  device_->SetForeignBytes(0);
  device_->FailNth("create", 9, /*forever=*/true);
  EXPECT_LT(Resume(7, ~uint64_t{0}), 40 * kMiB);
  EXPECT_EQ(last_, OffloadResult::kNoRoom);
  EXPECT_STREQ(pool_->Check(), nullptr);
  device_->FailNothing();
  Resume(7, ~uint64_t{0});
  EXPECT_EQ(last_, OffloadResult::kDone);
  ExpectContents();
}

// For every N, the Nth driver call of a resume fails, on a device that is full except for cached
// memory. Other live memory is unchanged, the pool serves requests, and a later resume finishes.
TEST_F(OffloadTest, AResumeThatFailsAnywhereCanFinishLater) {
  const std::vector<std::string> calls = {
      "memory_info", "create",      "release",      "map",          "unmap",      "set_access",
      "copy_start",  "copy_finish", "event_create", "event_record", "event_query"};
  for (const std::string& call : calls) {
    for (const bool forever : {false, true}) {
      bool clean = false;
      for (uint64_t nth = 1; nth < 400 && !clean; ++nth) {
        SCOPED_TRACE(call + " " + std::to_string(nth) + (forever ? " for good" : " once"));
        Start(64 * kMiB);
        ASSERT_NE(Take(30 * kMiB, 1, 7), 0U);
        const uint64_t other = Take(20 * kMiB);
        ASSERT_EQ(Pause(7), 30 * kMiB);
        const uint64_t cached = Take(24 * kMiB, 2);
        Give(cached);
        const uint64_t before = device_->Calls(call);
        device_->FailNth(call, nth, forever, kDriverUnknown);
        const uint64_t first = Resume(7, ~uint64_t{0});
        EXPECT_EQ(last_ == OffloadResult::kDone, first == 30 * kMiB);
        EXPECT_EQ(offloader_.Stats().paused_bytes, 30 * kMiB - first);
        EXPECT_TRUE(device_->Accessible(other, 20 * kMiB));
        ExpectContentsButOf({7});
        EXPECT_STREQ(pool_->Check(), nullptr);
        clean = device_->Calls(call) - before < nth;
        device_->FailNothing();
        const uint64_t meanwhile = Take(2 * kMiB);
        ASSERT_NE(meanwhile, 0U) << "the card is usable";
        EXPECT_EQ(Resume(7, ~uint64_t{0}), 30 * kMiB - first);
        EXPECT_EQ(last_, OffloadResult::kDone);
        ExpectContents();
        if (HasFailure()) return;
        TearDown();
      }
      EXPECT_TRUE(clean);
    }
  }
}

TEST_F(OffloadTest, ResumingWaitsForWorkOnWhatIsCached) {
  Start(32 * kMiB);
  Take(20 * kMiB, 1, 7);
  EXPECT_EQ(Pause(7), 20 * kMiB);
  const uint64_t other = Take(20 * kMiB);
  device_->Submit(1, other, 20 * kMiB);
  Give(other);
  EXPECT_EQ(Resume(7, ~uint64_t{0}), 0U) << "the device has 12 MiB left";
  EXPECT_EQ(last_, OffloadResult::kBusy);
  device_->set_on_pause([this] { device_->FinishAll(); });
  EXPECT_EQ(Resume(7, ~uint64_t{0}), 20 * kMiB);
  EXPECT_EQ(last_, OffloadResult::kDone);
  ExpectContents();
}

// Nothing may touch paused memory, so the resume need not wait for any work.
TEST_F(OffloadTest, ResumingIntoFreeMemoryWaitsForNoWork) {
  Start(64 * kMiB);
  Take(20 * kMiB, 1, 7);
  const uint64_t other = Take(20 * kMiB);
  EXPECT_EQ(Pause(7), 20 * kMiB);
  const uint64_t closed = offloader_.Stats().gate_closed;
  device_->Submit(1, other, 20 * kMiB);
  EXPECT_EQ(Resume(7, ~uint64_t{0}), 20 * kMiB);
  EXPECT_EQ(last_, OffloadResult::kDone);
  EXPECT_EQ(offloader_.Stats().gate_closed, closed);
  device_->FinishAll();
  ExpectContents();
}

// A resume restores memory in several slices: while one slice is copied, the next one is mapped.
// Pages that fail stay paused, and the next Resume restores them.
TEST_F(OffloadTest, AFailureInAnySliceOfAResumeLosesNothing) {
  constexpr uint64_t kBytes = 600 * kMiB;
  for (const std::string call : {"create", "map", "set_access", "copy_start", "copy_finish"}) {
    for (const uint64_t nth : {1, 2, 3, 100, 129, 200, 300}) {
      SCOPED_TRACE(call + " " + std::to_string(nth));
      Start(kGiB);
      ASSERT_NE(Take(kBytes, 1, 7), 0U);
      ASSERT_EQ(Pause(7), kBytes);
      device_->FailNth(call, nth, /*forever=*/false, kDriverUnknown);
      const uint64_t before = device_->Calls(call);
      const uint64_t first = Resume(7, ~uint64_t{0});
      const bool failed = device_->Calls(call) - before >= nth;
      // If a chunk cannot be created, the pool tries once more, so this failure is harmless.
      EXPECT_EQ(first == kBytes, !failed || call == "create");
      EXPECT_EQ(last_, first == kBytes ? OffloadResult::kDone : OffloadResult::kFailed);
      EXPECT_EQ(offloader_.Stats().paused_bytes, kBytes - first);
      EXPECT_STREQ(pool_->Check(), nullptr);
      device_->FailNothing();
      EXPECT_EQ(Resume(7, ~uint64_t{0}), kBytes - first);
      ExpectContents();
      TearDown();
    }
  }
}

// The copies of a slice must have ended before its pages count as restored.
TEST_F(OffloadTest, AResumeWithoutAWaitForItsCopiesWouldBeNoticed) {
  Start(64 * kMiB, kGiB, [](DriverTable* table) {
    table->copy_finish = [](void*, uint64_t) -> DriverResult { return kDriverSuccess; };
  });
  const uint64_t block = Take(10 * kMiB, 1, 7);
  ASSERT_EQ(Pause(7), 10 * kMiB);
  ASSERT_EQ(Resume(7, ~uint64_t{0}), 10 * kMiB);
  EXPECT_NE(device_->Read(block + 2 * kMiB), expected_.at(block + 2 * kMiB));
}

// On this device every driver call takes time. A pause unmaps runs of pages and releases memory
// while it copies.
TEST_F(OffloadTest, APauseUnmapsRunsAndReleasesBesideItsCopies) {
  constexpr uint64_t kBytes = 600 * kMiB;
  static decltype(DriverTable::copy_finish) finish;
  static FakeDevice* device;
  static uint64_t released;  // before the last copies ended
  static uint64_t slices;
  Start(kGiB, kGiB, [](DriverTable* table) {
    finish = table->copy_finish;
    table->copy_finish = [](void* self, uint64_t job) {
      released = device->Calls("release");
      ++slices;
      return finish(self, job);
    };
  });
  ASSERT_NE(Take(kBytes, 1, 7), 0U);
  const uint64_t unmaps = device_->Calls("unmap");
  const uint64_t releases = device_->Calls("release");
  slices = 0;
  device = device_.get();
  ASSERT_EQ(Pause(7), kBytes);
  EXPECT_GE(slices, 3U);
  EXPECT_EQ(device_->Calls("unmap") - unmaps, slices);
  EXPECT_EQ(device_->Calls("release") - releases, kBytes / (2 * kMiB));
  EXPECT_GE(released - releases, kBytes / (2 * kMiB) - Mover::kMaxPages);
  EXPECT_EQ(Resume(7, ~uint64_t{0}), kBytes);
  ExpectContents();
}

// If a driver call of a pause fails, the rest of the memory stays, and the next Pause moves it.
TEST_F(OffloadTest, AFailureInAnySliceOfAPauseLosesNothing) {
  constexpr uint64_t kBytes = 600 * kMiB;
  for (const std::string call :
       {"host_allocate", "copy_start", "copy_finish", "unmap", "release"}) {
    for (const uint64_t nth : {1, 2, 3, 4, 5, 100, 200}) {
      for (const bool forever : {false, true}) {
        SCOPED_TRACE(call + " " + std::to_string(nth) + (forever ? " for good" : " once"));
        Start(kGiB);
        ASSERT_NE(Take(kBytes, 1, 7), 0U);
        device_->FailNth(call, nth, forever, kDriverUnknown);
        const uint64_t first = Pause(7);
        EXPECT_EQ(first == kBytes, last_ == OffloadResult::kDone);
        EXPECT_EQ(offloader_.Stats().paused_bytes, first);
        EXPECT_STREQ(pool_->Check(), nullptr);
        device_->FailNothing();
        EXPECT_EQ(Pause(7), kBytes - first);
        EXPECT_EQ(offloader_.Stats().paused_bytes, kBytes);
        EXPECT_STREQ(pool_->Check(), nullptr);
        EXPECT_EQ(Resume(7, ~uint64_t{0}), kBytes);
        ExpectContents();
        TearDown();
      }
    }
  }
}

TEST_F(OffloadTest, WhatAGraphMayUseIsNotPaused) {
  Start(64 * kMiB);
  const uint64_t input = Take(10 * kMiB, 1, 7);
  const uint64_t weights = Take(10 * kMiB, 1, 7);
  offloader_.Pin(input);
  EXPECT_EQ(Pause(7), 10 * kMiB);
  EXPECT_EQ(last_, OffloadResult::kOfGraph);
  EXPECT_TRUE(device_->Accessible(input, 10 * kMiB));
  EXPECT_FALSE(device_->Accessible(weights, 1));
  Resume();
  ExpectContents();
}

TEST_F(OffloadTest, WhatNobodyTouchedSinceTheMarkIsIdle) {
  Start(64 * kMiB);
  const uint64_t used = Take(10 * kMiB);
  const uint64_t idle = Take(10 * kMiB);
  const uint32_t mark = offloader_.Mark(1'000'000'000);
  EXPECT_TRUE(offloader_.tracks_touches());
  EXPECT_EQ(offloader_.BringBack(kGiB), 0U);
  EXPECT_TRUE(offloader_.tracks_touches()) << "the mark asked for a second";
  offloader_.Tick();
  offloader_.Touch(used);
  uint64_t bytes = 0;
  EXPECT_EQ(offloader_.OffloadIdle(~uint64_t{0}, mark, &bytes), OffloadResult::kDone);
  EXPECT_EQ(bytes, 10 * kMiB);
  EXPECT_TRUE(device_->OnHost(idle));
  EXPECT_FALSE(device_->OnHost(used));
  EXPECT_EQ(device_->created_bytes(), 10 * kMiB);
  ExpectContents();
}

TEST_F(OffloadTest, WhatTheHostLacksIsNotTaken) {
  Start(64 * kMiB);
  static FakeDevice* device;
  device = device_.get();
  OffloadConfig config;
  config.host_bytes = kGiB;
  config.host_free_bytes = [] { return 300 * kMiB - device->pinned_bytes(); };
  config.keep_host_free_bytes = 296 * kMiB;
  offloader_.Close(true);
  new (&offloader_) Offloader;
  ASSERT_TRUE(offloader_.Open(pool_->pages(), &gate_, config));
  Take(10 * kMiB, 1, 7);
  EXPECT_EQ(Pause(7), 4 * kMiB);
  EXPECT_EQ(last_, OffloadResult::kNoRoom);
  EXPECT_EQ(device_->pinned_bytes(), 4 * kMiB);
  Resume();
  ExpectContents();
}

// If a move fails so that a page is mapped nowhere, the page is mapped again without another move.
TEST_F(OffloadTest, WhatIsLostForAMomentIsRestored) {
  Start(64 * kMiB);
  const uint64_t block = Take(2 * kMiB);
  // The second `map` of the move maps the new chunk at the page's address; from then on every `map`
  // fails.
  device_->FailNth("map", 2, /*forever=*/true);
  EXPECT_EQ(offloader_.MoveOut(2 * kMiB, OffloadReason::kAsked), 0U);
  EXPECT_FALSE(device_->Accessible(block, 1));
  device_->FailNothing();
  EXPECT_EQ(offloader_.BringBack(kGiB), 0U);
  EXPECT_TRUE(device_->Accessible(block, 2 * kMiB));
  ExpectContents();
}

// For every N, the Nth driver call of a pause and a resume fails.
TEST_F(OffloadTest, EveryFailureOfAPauseLeavesWhatCanBeResumed) {
  const std::vector<std::string> calls = {"host_allocate", "reserve",    "map",
                                          "set_access",    "copy_start", "copy_finish",
                                          "unmap",         "create",     "release"};
  for (const std::string& call : calls) {
    for (const bool forever : {false, true}) {
      bool clean = false;
      for (uint64_t nth = 1; nth < 400 && !clean; ++nth) {
        SCOPED_TRACE(call + " " + std::to_string(nth) + (forever ? " for good" : " once"));
        Start(32 * kMiB);
        for (int i = 0; i < 4; ++i) ASSERT_NE(Take(5 * kMiB, 1, 1 + i % 2), 0U);
        const uint64_t before = device_->Calls(call);
        device_->FailNth(call, nth, forever);
        Pause(1);
        ExpectContentsButOf({1});
        Resume(1, 4 * kMiB);
        EXPECT_STREQ(pool_->Check(), nullptr);
        clean = device_->Calls(call) - before < nth;
        device_->FailNothing();
        Resume();
        EXPECT_EQ(last_, OffloadResult::kDone);
        ExpectContents();
        EXPECT_EQ(offloader_.Stats().paused_bytes, 0U);
        EXPECT_EQ(Pause(1), 10 * kMiB);
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

}  // namespace
}  // namespace vramstow
