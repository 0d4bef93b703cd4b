// Tests CensusLog: the marks of a census (a reference scan) are read, and malformed ones are
// ignored.
#include "tools/analysis/facts/census_log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/typed_event.h"

namespace vramstow {
namespace {

Event MarkOf(uint64_t number, uint32_t thread = 1) {
  Event event = MarkEvent{MarkKind::kMoment, 1, number}.ToEvent();
  event.thread = thread;
  return event;
}

TEST(CensusLog, ACensusHasItsHoldersInOrder) {
  CensusLog log;
  EXPECT_TRUE(
      log.Add(MarkOf(0), "vramstow.census out_of_memory 0 900 1000 5 70\nits time was over", 7));
  EXPECT_TRUE(log.Add(MarkOf(512), "vramstow.holder saved 0 800\na.grad_fn\nfloat32 [200]", 8));
  EXPECT_TRUE(log.Add(MarkOf(2048), "vramstow.holder other 0 100\nb\nfloat32 [25]", 9));
  const auto censuses = log.Take();
  ASSERT_THAT(censuses, testing::SizeIs(1));
  EXPECT_EQ(censuses[0].event, 7u);
  EXPECT_EQ(censuses[0].reason, "out_of_memory");
  EXPECT_EQ(censuses[0].found_bytes, 900u);
  EXPECT_EQ(censuses[0].live_bytes, 1000u);
  EXPECT_EQ(censuses[0].duration_ns, 5u);
  EXPECT_EQ(censuses[0].objects, 70u);
  EXPECT_EQ(censuses[0].why_ended, "its time was over");
  ASSERT_THAT(censuses[0].blocks, testing::SizeIs(2));
  EXPECT_EQ(censuses[0].blocks[0].address, 512u);
  EXPECT_EQ(censuses[0].blocks[0].bytes, 800u);
  EXPECT_EQ(censuses[0].blocks[0].role, "saved");
  EXPECT_EQ(censuses[0].blocks[0].holder, "a.grad_fn");
  EXPECT_EQ(censuses[0].blocks[0].about, "float32 [200]");
}

TEST(CensusLog, HoldersBelongToTheCensusOfTheirThread) {
  CensusLog log;
  log.Add(MarkOf(0, 1), "vramstow.census out_of_memory 0 1 1 1 1\n", 1);
  log.Add(MarkOf(0, 2), "vramstow.census asked 0 1 1 1 1\n", 2);
  log.Add(MarkOf(512, 1), "vramstow.holder other 0 1\na\n", 3);
  log.Add(MarkOf(512, 3), "vramstow.holder other 0 1\nnobody's\n", 4);
  const auto censuses = log.Take();
  ASSERT_THAT(censuses, testing::SizeIs(2));
  EXPECT_THAT(censuses[0].blocks, testing::SizeIs(1));
  EXPECT_THAT(censuses[1].blocks, testing::IsEmpty());
}

TEST(CensusLog, OtherMarksAreNotTaken) {
  CensusLog log;
  EXPECT_FALSE(log.Add(MarkOf(0), "epoch", 1));
  EXPECT_FALSE(log.Add(MarkOf(0), "vramstow.category parameters 0x200", 2));
  EXPECT_FALSE(log.Add(MarkOf(0), "", 3));
}

TEST(CensusLog, WhatIsDamagedIsLeftOut) {
  CensusLog log;
  for (const char* text :
       {"vramstow.census ", "vramstow.census out_of_memory", "vramstow.census x 0 1 2 3",
        "vramstow.census x 0 1 2 3 -4\n", "vramstow.census x 0 1 2 3 99999999999999999999999\n",
        "vramstow.holder ", "vramstow.holder other 0 1\na\nb"}) {
    EXPECT_TRUE(log.Add(MarkOf(512), text, 1)) << text;
  }
  EXPECT_THAT(log.Take(), testing::IsEmpty());
  log.Add(MarkOf(0), "vramstow.census x 0 1 2 3 4", 1);
  log.Add(MarkOf(512), "vramstow.holder other 99999 1\na\nb", 1);
  log.Add(MarkOf(512), "vramstow.holder other 0 many\na\nb", 1);
  const auto censuses = log.Take();
  ASSERT_THAT(censuses, testing::SizeIs(1));
  EXPECT_THAT(censuses[0].blocks, testing::IsEmpty());
}

TEST(CensusLog, WhatWasLeftOutGoesFirst) {
  CensusLog log;
  log.Add(MarkOf(0), "vramstow.census out_of_memory 0 900 1000 5 70\n", 1);
  for (uint64_t i = 2; i < 3 * CensusLog::kMax; ++i) {
    log.Add(MarkOf(0), "vramstow.census out_of_memory 0 0 0 0 0\nno time", i);
  }
  const auto censuses = log.Take();
  ASSERT_THAT(censuses, testing::SizeIs(CensusLog::kMax));
  EXPECT_FALSE(censuses.front().is_left_out());
  EXPECT_TRUE(censuses.back().is_left_out());
  EXPECT_EQ(censuses.back().event, 3 * CensusLog::kMax - 1);
}

TEST(CensusLog, ItsMemoryIsLimited) {
  CensusLog log;
  for (uint64_t i = 0; i < 3 * CensusLog::kMax; ++i) {
    log.Add(MarkOf(0), "vramstow.census x 0 1 2 3 4", i);
  }
  for (size_t i = 0; i < CensusLog::kMaxBlocks + 10; ++i) {
    log.Add(MarkOf(512), "vramstow.holder other 0 1\na\nb", 1);
  }
  const auto censuses = log.Take();
  ASSERT_THAT(censuses, testing::SizeIs(CensusLog::kMax));
  EXPECT_EQ(censuses.back().event, 3 * CensusLog::kMax - 1);
  EXPECT_THAT(censuses.back().blocks, testing::SizeIs(CensusLog::kMaxBlocks));
}

}  // namespace
}  // namespace vramstow
