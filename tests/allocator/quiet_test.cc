// Tests quiet memory (memory that no work uses until the quiet time ends) on a fake device. Its
// pages are copied to the host. If memory is lacking and a copy is still valid, the page is parked
// (unmapped from the GPU). It is restored before it is used.
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "allocator/offload/allocation_course.h"
#include "tests/allocator/offload_fixture.h"

namespace vramstow {
namespace {

constexpr uint64_t kState = 8 * kMiB;

class QuietTest : public OffloadTest {
 protected:
  // Starts a device of 64 MiB with four blocks (states) that are quiet between steps: no work uses
  // them then. Runs two iterations, in which 16 MiB are lacking.
  void StartSteps() {
    StartOn({.total_bytes = 64 * kMiB});
    for (int i = 0; i < 4; ++i) states_.push_back({Take(kState), kState});
    for (int i = 0; i < 2; ++i) Iterate();
    EXPECT_EQ(StatesAway(), 0U) << "all of it is back between two steps";
    stops_ = offloader_.Stats().gate_closed;
  }
  // If `copies_at_start` is set, the device copies when a copy starts. So a test notices if a copy
  // is used that is older than the last write.
  void StartOn(FakeDevice::Options options, bool copies_at_start = true) {
    options.copies_at_start = copies_at_start;
    states_.clear();
    device_options_ = options;
    Start(options.total_bytes);
  }
  // Allocates and frees more memory than the device has, as a program does between two steps.
  void Iterate() {
    Begin();
    RunForward();
    RunBackward();
    End();
  }
  void Begin() { offloader_.BeginQuiet(states_.data(), states_.size()); }
  void End() { offloader_.EndQuiet(); }
  void RunForward() {
    for (int i = 0; i < 6; ++i) {
      Submit(64);
      const uint64_t block = Take(kState);
      if (block != 0) activations_.push_back(block);
    }
  }
  void RunBackward() {
    while (!activations_.empty()) {
      Give(activations_.back());
      activations_.pop_back();
      Submit(64);
    }
  }
  // Submits `count` pieces of work that use no memory.
  void Submit(int count) {
    for (int i = 0; i < count; ++i) {
      if (offloader_.wants_to_advance()) offloader_.AdvanceQuiet();
      offloader_.Tick();
    }
  }
  // Returns how many bytes of the blocks in states_ are not accessible.
  uint64_t StatesAway() const {
    uint64_t bytes = 0;
    for (const QuietRange& state : states_) {
      for (uint64_t at = 0; at < state.bytes; at += 2 * kMiB) {
        bytes += device_->Accessible(state.address + at, 8) ? 0 : 2 * kMiB;
      }
    }
    return bytes;
  }
  // Reports the use of an address, as the hooks do for each address among the arguments of work.
  void Touch(uint64_t address) {
    offloader_.Touch(address);
    if (offloader_.IsAway(address)) offloader_.Need(address);
  }
  // Touches all live blocks, as a program does when it reads them, and checks their contents.
  void ReadAll() {
    for (const auto& [address, size] : live_) Touch(address);
    ExpectContents();
  }

  std::vector<QuietRange> states_;
  std::vector<uint64_t> activations_;
  uint64_t stops_ = 0;
};

TEST_F(QuietTest, WhatWillLackIsCopiedAheadAndLeavesAtOnce) {
  StartSteps();
  Begin();
  Submit(640);
  const uint64_t copies = device_->Calls("copy_start");
  EXPECT_EQ(StatesAway(), 0U) << "it is copied, and not parked";
  RunForward();
  EXPECT_EQ(device_->Calls("copy_start"), copies) << "nothing is copied when memory lacks";
  EXPECT_GE(StatesAway(), 16 * kMiB);
  EXPECT_GE(offloader_.Stats().offloaded_bytes, 16 * kMiB);
  EXPECT_EQ(offloader_.Stats().paused_bytes, 0U);
  RunBackward();
  End();
  EXPECT_EQ(StatesAway(), 0U);
  EXPECT_LE(offloader_.Stats().gate_closed, stops_ + 1) << "the gate closes to park, no more";
  ExpectContents();
}

TEST_F(QuietTest, AViewHidesNoPartOfTheRangeThatContainsIt) {
  StartSteps();
  states_.push_back({states_[0].address + 2 * kMiB, 2 * kMiB});
  states_.push_back({states_[3].address + 2 * kMiB, 2 * kMiB});
  Begin();
  Submit(640);
  RunForward();
  EXPECT_GE(StatesAway(), 16 * kMiB);
  for (const QuietRange& state : states_) {
    const uint64_t last = state.address + state.bytes - 8;
    EXPECT_TRUE(device_->Accessible(last, 8) || offloader_.IsAway(last));
  }
  RunBackward();
  End();
  ExpectContents();
}

TEST_F(QuietTest, ItComesBackAsMemoryBecomesFree) {
  StartSteps();
  Begin();
  Submit(640);
  RunForward();
  const uint64_t away = StatesAway();
  ASSERT_GE(away, 16 * kMiB);
  RunBackward();
  Submit(640);
  const uint64_t copies = device_->Calls("copy_start");
  End();
  EXPECT_EQ(device_->Calls("copy_start"), copies) << "all copies began before the end";
  ExpectContents();
}

// The device becomes full again while copies fill pages that are being restored. These pages still
// count as not restored.
TEST_F(QuietTest, WhatIsOnItsWayBackIsAwayAlsoWhereMoreIsParked) {
  StartOn({.total_bytes = 64 * kMiB}, /*copies_at_start=*/false);
  for (int i = 0; i < 4; ++i) states_.push_back({Take(kState), kState});
  for (int i = 0; i < 2; ++i) Iterate();
  Begin();
  Submit(640);
  RunForward();
  ASSERT_GE(StatesAway(), 16 * kMiB);
  while (activations_.size() > 2) {
    Give(activations_.back());
    activations_.pop_back();
  }
  Submit(64);
  RunForward();
  ReadAll();
  RunBackward();
  End();
  ExpectContents();
}

TEST_F(QuietTest, WhatIsParkedIsBackBeforeWorkUsesIt) {
  StartSteps();
  Begin();
  Submit(640);
  RunForward();
  ASSERT_GE(StatesAway(), 16 * kMiB);
  // The loop finds a block of states_ whose middle page is parked (evicted to the host because
  // memory is lacking).
  uint64_t away = 0;
  for (const QuietRange& state : states_) {
    if (!device_->Accessible(state.address + 4 * kMiB, 8)) away = state.address;
  }
  ASSERT_NE(away, 0U);
  EXPECT_TRUE(offloader_.IsAway(away));
  EXPECT_TRUE(offloader_.IsAway(away + kState - 1));
  EXPECT_FALSE(offloader_.IsAway(activations_[0]));
  Touch(away + 1);
  EXPECT_EQ(StatesAway(), 0U);
  EXPECT_FALSE(offloader_.IsAway(away));
  ExpectContents();
  RunBackward();
  End();
  ExpectContents();
}

// Two small blocks share a page that is parked (evicted to the host). One is live, and its contents
// are restored. The other was freed, and its memory is not reused before the page is restored.
TEST_F(QuietTest, AFreedNeighbourOfAParkedBlockIsServedOnlyWhenThePageIsBack) {
  StartOn({.total_bytes = 64 * kMiB});
  for (int i = 0; i < 6; ++i) states_.push_back({Take(5 * kMiB), 5 * kMiB});
  for (int i = 0; i < 2; ++i) Iterate();
  Begin();
  Submit(640);
  RunForward();
  ASSERT_GT(StatesAway(), 0U);
  Give(states_[1].address);
  Give(states_[4].address);
  RunBackward();
  for (int i = 0; i < 4; ++i) {
    const uint64_t block = Take(3 * kMiB);
    ASSERT_NE(block, 0U);
    EXPECT_TRUE(device_->Accessible(block, 3 * kMiB));
    activations_.push_back(block);
  }
  offloader_.BringBack(0);
  ReadAll();
  End();
  ExpectContents();
  EXPECT_STREQ(pool_->Check(), nullptr);
}

TEST_F(QuietTest, APauseOfItsRegionBringsItBackFirst) {
  StartSteps();
  Begin();
  Submit(640);
  RunForward();
  ASSERT_GE(StatesAway(), 16 * kMiB);
  uint64_t bytes = 0;
  EXPECT_EQ(offloader_.Pause(PoolPages::kAnyTag, {.keep = true}, &bytes), OffloadResult::kDone);
  EXPECT_EQ(offloader_.Resume(PoolPages::kAnyTag, ~uint64_t{0}, &bytes), OffloadResult::kNoRoom);
  RunBackward();
  EXPECT_EQ(offloader_.Resume(PoolPages::kAnyTag, ~uint64_t{0}, &bytes), OffloadResult::kDone);
  ExpectContents();
  End();
  ExpectContents();
}

TEST_F(QuietTest, AJobThatFitsCostsNoCallOfTheDriver) {
  StartOn({.total_bytes = 128 * kMiB});
  for (int i = 0; i < 4; ++i) states_.push_back({Take(kState), kState});
  Iterate();
  const uint64_t calls = device_->AllCalls();
  Begin();
  Submit(640);
  End();
  EXPECT_EQ(device_->AllCalls(), calls);
}

TEST_F(QuietTest, WhatIsWrittenMeanwhileKeepsWhatWasWritten) {
  StartSteps();
  Begin();
  Submit(640);
  // Work that has the block as an argument writes to it after it was copied.
  for (const QuietRange& state : states_) {
    Touch(state.address + kState / 2);
    Fill(state.address);
  }
  RunForward();
  RunBackward();
  End();
  ExpectContents();
}

TEST_F(QuietTest, WhatIsWrittenOnItsWayBackKeepsWhatWasWritten) {
  StartSteps();
  Begin();
  Submit(640);
  RunForward();
  ASSERT_GE(StatesAway(), 16 * kMiB);
  RunBackward();
  Submit(640);
  for (const QuietRange& state : states_) {
    Touch(state.address + kState / 2);
    Fill(state.address);
  }
  End();
  ExpectContents();
}

TEST_F(QuietTest, ABlockThatTakesThePlaceOfAQuietOneIsNotTakenForIt) {
  StartSteps();
  Begin();
  Submit(640);
  Give(states_[0].address);
  Take(kState);
  RunForward();
  RunBackward();
  End();
  ExpectContents();
}

// Copies run outside of the streams that the pool knows, so a page is not unmapped before its copy
// has ended.
TEST_F(QuietTest, WhatIsFreedAndGivenBackIsNotUnmappedUnderItsCopy) {
  StartOn({.total_bytes = 64 * kMiB, .guards_copies = true}, /*copies_at_start=*/false);
  for (int i = 0; i < 4; ++i) states_.push_back({Take(kState), kState});
  for (int i = 0; i < 2; ++i) Iterate();
  Begin();
  Submit(640);
  for (const QuietRange& state : states_) Give(state.address);
  pool_->Trim({});
  End();
}

// A free block leaves host memory under free pages if work may still touch its neighbour. The next
// block at these pages can be parked at once, and is freed while its pages and those of another
// block are being restored.
TEST_F(QuietTest, ABlockThatWasServedFromHostMemoryIsReusedOnlyWhenItIsBack) {
  StartOn({.total_bytes = 64 * kMiB, .guards_copies = true}, /*copies_at_start=*/false);
  for (int i = 0; i < 4; ++i) states_.push_back({Take(kState), kState});
  const uint64_t behind = Take(kState);
  for (int i = 0; i < 2; ++i) Iterate();
  offloader_.BringBack(0);
  pool_->Trim({});
  const uint64_t moved = states_[2].address;
  Submit(64);
  for (const int other : {1, 3}) Touch(states_[other].address);
  Touch(behind);
  offloader_.MoveOut(2 * kState, OffloadReason::kAsked);
  ASSERT_TRUE(device_->OnHost(moved));
  device_->Submit(1, moved, kState);
  Give(moved);
  pool_->Trim({});  // records the event that the block waits for
  const uint64_t neighbour = states_[3].address;
  ASSERT_EQ(neighbour, moved + kState);
  device_->Submit(1, neighbour, kState);
  Give(neighbour);
  device_->Finish(1, 1);
  states_.resize(2);
  states_.push_back({Take(2 * kState), 2 * kState});
  ASSERT_EQ(states_[2].address, moved);
  ASSERT_TRUE(device_->OnHost(moved));
  device_->FinishAll();
  Begin();
  Submit(640);
  EXPECT_TRUE(offloader_.IsAway(moved));
  End();
  EXPECT_FALSE(offloader_.IsAway(moved));
  Give(moved);
  pool_->Trim({});
  offloader_.BringBack(0);
  ReadAll();
  EXPECT_STREQ(pool_->Check(), nullptr);
}

// A function that runs in the next call of copy_finish, as an action of another thread would.
std::function<void()> in_copy_finish;

// Another thread may free a block while the thread that parks its pages waits for their copies.
TEST_F(QuietTest, WhatIsFreedWhileItIsParkedIsReusedOnlyWhenItIsBack) {
  device_options_ = {.guards_copies = true};
  Start(64 * kMiB, kGiB, [](DriverTable* table) {
    static auto finish = table->copy_finish;
    table->copy_finish = [](void* self, uint64_t job) {
      if (in_copy_finish) std::exchange(in_copy_finish, nullptr)();
      return finish(self, job);
    };
  });
  for (int i = 0; i < 4; ++i) states_.push_back({Take(kState), kState});
  for (int i = 0; i < 2; ++i) Iterate();
  Begin();
  Submit(640);
  in_copy_finish = [this] {
    for (const QuietRange& state : states_) Give(state.address);
  };
  RunForward();
  EXPECT_FALSE(in_copy_finish) << "pages were parked";
  EXPECT_STREQ(pool_->check_failure(), nullptr);
  RunBackward();
  End();
  offloader_.BringBack(0);
  ReadAll();
}

TEST_F(QuietTest, WithoutContextEventsMemoryMovesWhenItLacks) {
  StartOn({.total_bytes = 64 * kMiB, .context_events = false});
  for (int i = 0; i < 4; ++i) states_.push_back({Take(kState), kState});
  for (int i = 0; i < 3; ++i) Iterate();
  EXPECT_GT(offloader_.Stats().out_bytes, 0U);
  ExpectContents();
}

TEST_F(QuietTest, ADriverThatRemovesOneMappingAtATimeServesAll) {
  StartOn({.total_bytes = 64 * kMiB, .many_mappings = true, .unmaps_runs = false});
  for (int i = 0; i < 4; ++i) states_.push_back({Take(kState), kState});
  for (int i = 0; i < 3; ++i) Iterate();
  ExpectContents();
}

TEST_F(QuietTest, ADriverThatMapsAHandleOnceServesAll) {
  StartOn({.total_bytes = 64 * kMiB, .many_mappings = false});
  for (int i = 0; i < 4; ++i) states_.push_back({Take(kState), kState});
  for (int i = 0; i < 3; ++i) Iterate();
  ExpectContents();
}

// --- Idle blocks --------------------------------------------------------------------------------

// One quiet block of 6 MiB is too small to provide the missing memory, so idle blocks of the
// forward pass are evicted, too.
class IdleTest : public QuietTest {
 protected:
  void StartSmall(bool copies_at_start = true) {
    StartOn({.total_bytes = 48 * kMiB}, copies_at_start);
    activations_.clear();
    states_.push_back({Take(kState), kState});
    for (int i = 0; i < 2; ++i) Train();
  }
  // Runs an iteration whose backward pass reports the addresses of the blocks that it uses.
  void Train() {
    Begin();
    Fill();
    Backward();
    End();
  }
  void Fill() {
    for (int i = 0; i < 12; ++i) {
      Submit(64);
      const uint64_t block = Take(kState);
      ASSERT_NE(block, 0U);
      if (exposes_) offloader_.Expose(block);
      activations_.push_back(block);
    }
  }
  void Backward() {
    while (!activations_.empty()) {
      Touch(activations_.back());
      OffloadTest::Fill(activations_.back());
      Submit(64);
      Give(activations_.back());
      activations_.pop_back();
    }
  }
  uint64_t CountAway() const {
    uint64_t count = 0;
    for (const uint64_t block : activations_) count += offloader_.IsAway(block) ? 1 : 0;
    return count;
  }

  bool exposes_ = false;
};

TEST_F(IdleTest, TheOldestBlocksAreParkedAndComeBackBeforeTheyAreUsed) {
  StartSmall();
  Begin();
  Fill();
  EXPECT_GE(CountAway(), 4U);
  EXPECT_TRUE(offloader_.IsAway(activations_.front()));
  EXPECT_FALSE(offloader_.IsAway(activations_.back()));
  const uint64_t first = activations_.front();
  Touch(first + kState - 1);
  EXPECT_FALSE(offloader_.IsAway(first));
  EXPECT_TRUE(device_->Accessible(first, kState));
  EXPECT_GE(CountAway(), 3U) << "the others stay where they are";
  ReadAll();
  Backward();
  End();
  EXPECT_EQ(CountAway(), 0U);
  ExpectContents();
}

TEST_F(IdleTest, WhatIsExposedIsNeverAway) {
  exposes_ = true;
  StartSmall();
  Begin();
  Fill();
  EXPECT_EQ(CountAway(), 0U);
  for (const uint64_t block : activations_) EXPECT_TRUE(device_->Accessible(block, kState));
  Backward();
  End();
  ExpectContents();
}

TEST_F(IdleTest, WhatIsUsedSinceItWasCopiedStays) {
  StartSmall();
  Begin();
  for (int i = 0; i < 5; ++i) activations_.push_back(Take(kState));
  Submit(640);
  for (const uint64_t block : activations_) {
    Touch(block);
    OffloadTest::Fill(block);
  }
  Fill();
  for (int i = 0; i < 5; ++i) EXPECT_FALSE(offloader_.IsAway(activations_[i])) << i;
  ReadAll();
  Backward();
  End();
  ExpectContents();
}

TEST_F(IdleTest, EveryFailureLeavesEveryByteReadable) {
  for (const std::string call : {"create_host", "map", "set_access", "copy_start", "copy_order",
                                 "copy_finish", "unmap", "event_record_all"}) {
    for (const bool forever : {false, true}) {
      bool clean = false;
      for (uint64_t nth = 1; nth < 300 && !clean; ++nth) {
        SCOPED_TRACE(call + " " + std::to_string(nth) + (forever ? " for good" : " once"));
        StartSmall();
        Begin();
        const uint64_t before = device_->Calls(call);
        device_->FailNth(call, nth, forever, kDriverUnknown);
        for (int i = 0; i < 12; ++i) {
          Submit(64);
          const uint64_t block = Take(kState);  // 0 if the driver's failure makes it fail
          if (block != 0) activations_.push_back(block);
        }
        for (const uint64_t block : activations_) Touch(block);
        clean = device_->Calls(call) - before < nth;
        device_->FailNothing();
        End();
        offloader_.BringBack(0);
        ExpectContents();
        Backward();
        EXPECT_STREQ(pool_->Check(), nullptr);
        if (HasFailure()) return;
        TearDown();
      }
      EXPECT_TRUE(clean) << call;
    }
  }
}

TEST_F(QuietTest, EveryFailureLeavesEveryByteReadable) {
  for (const std::string call : {"create_host", "map", "set_access", "copy_start", "copy_order",
                                 "copy_finish", "unmap", "create", ""}) {
    for (const bool forever : {false, true}) {
      bool clean = false;
      for (uint64_t nth = 1; nth < 300 && !clean; ++nth) {
        SCOPED_TRACE(call + " " + std::to_string(nth) + (forever ? " for good" : " once"));
        StartSteps();
        const uint64_t before = call.empty() ? device_->AllCalls() : device_->Calls(call);
        device_->FailNth(call, nth, forever, kDriverUnknown);
        Iterate();
        const uint64_t now = call.empty() ? device_->AllCalls() : device_->Calls(call);
        clean = now - before < nth;
        device_->FailNothing();
        offloader_.BringBack(0);  // pages that could not be mapped are mapped again
        ExpectContents();
        Iterate();
        ExpectContents();
        EXPECT_STREQ(pool_->Check(), nullptr);
        if (HasFailure()) return;
        TearDown();
      }
      EXPECT_TRUE(clean) << call;
    }
  }
}

// Runs random programs. They allocate and free quiet blocks, and write to them within a step or
// after they have reported their addresses. They allocate, write and free all other memory at any
// time.
TEST_F(QuietTest, RandomProgramsKeepEveryByte) {
  for (uint64_t seed = 0; seed < 40; ++seed) {
    SCOPED_TRACE(seed);
    random_.seed(seed);
    StartOn({.total_bytes = (40 + random_() % 40) * kMiB, .unmaps_runs = seed % 3 != 0});
    for (int i = 0; i < 4; ++i) states_.push_back({Take(kState), kState});
    for (int step = 0; step < 150; ++step) {
      const uint64_t what = random_() % 8;
      const QuietRange& state = states_[random_() % states_.size()];
      if (what == 0) Begin();
      if (what == 1) {
        End();
        for (const QuietRange& one : states_) Fill(one.address);
      }
      if (what == 2) {
        Touch(state.address + random_() % kState);
        Fill(state.address);
      }
      if (what == 3 || what == 4) {
        const uint64_t block = Take((1 + random_() % 12) * kMiB);
        if (block != 0) activations_.push_back(block);
      }
      if (what == 5 && !activations_.empty()) {
        Give(activations_.back());
        activations_.pop_back();
      }
      if (what == 6) offloader_.BringBack(64 * kMiB);
      if (what == 7) ReadAll();
      Submit(static_cast<int>(random_() % 200));
    }
    End();
    ExpectContents();
    EXPECT_STREQ(pool_->Check(), nullptr);
    if (HasFailure()) return;
    activations_.clear();
    TearDown();
  }
}

TEST(AllocationCourse, TellsTheMostOfTheIterationBeforeWithinSomeTicks) {
  AllocationCourse course;
  for (const uint64_t bytes : {1, 5, 2, 9, 3}) {
    course.Note(bytes);
    course.Tick();
  }
  EXPECT_EQ(course.MostToCome(), 0u);
  course.Begin();
  EXPECT_EQ(course.MostWithin(0), 1u);
  EXPECT_EQ(course.MostWithin(2), 5u);
  EXPECT_EQ(course.MostToCome(), 9u);
  for (int i = 0; i < 4; ++i) course.Tick();
  EXPECT_EQ(course.MostToCome(), 3u);
  course.Tick();
  EXPECT_EQ(course.MostToCome(), 0u);
}

}  // namespace
}  // namespace vramstow
