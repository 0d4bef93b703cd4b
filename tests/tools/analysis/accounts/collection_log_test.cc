// Tests CollectionLog: the marks of collections are read, and what they saved is computed from the
// events that follow.
#include "tools/analysis/accounts/collection_log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/typed_event.h"

namespace vramstow {
namespace {

Event CollectionMark(uint32_t thread = 1) {
  Event event = MarkEvent{MarkKind::kMoment, 1, 0}.ToEvent();
  event.thread = thread;
  return event;
}

Event Tensor(uint32_t thread, int32_t result) {
  Event event;
  event.kind = EventKind::kAllocate;
  event.layer = Layer::kFramework;
  event.thread = thread;
  event.result = result;
  return event;
}

TEST(CollectionLog, WhatIsServedAfterwardsWasSaved) {
  CollectionLog log;
  EXPECT_TRUE(log.Add(CollectionMark(1), "vramstow.collection young 0 100 5 7"));
  EXPECT_TRUE(log.Add(CollectionMark(1), "vramstow.garbage 0 100\nA.a → itself\nfloat32 [25]"));
  EXPECT_TRUE(log.Add(CollectionMark(1), "vramstow.collection all 0 300 6 9"));
  EXPECT_TRUE(log.Add(CollectionMark(2), "vramstow.collection all 0 0 6 9"));
  log.Note(Tensor(3, 0));
  log.Note(Tensor(1, 0));
  log.Note(Tensor(2, 2));
  log.Note(Tensor(1, 0));
  log.Note(Tensor(2, 0));
  const GarbageFacts facts = log.Facts();
  EXPECT_EQ(facts.collections, 3u);
  EXPECT_EQ(facts.saved_requests, 1u);
  EXPECT_EQ(facts.freed_bytes, 400u);
  EXPECT_EQ(facts.most_bytes, 300u);
  EXPECT_EQ(facts.duration_ns, 17u);
  ASSERT_THAT(facts.cycles, testing::SizeIs(1));
  EXPECT_EQ(facts.cycles[0].cycle, "A.a → itself");
  EXPECT_EQ(facts.cycles[0].about, "float32 [25]");
}

TEST(CollectionLog, RingsThatAreAlikeAreOne) {
  CollectionLog log;
  log.Add(CollectionMark(), "vramstow.garbage 0 100\nA.a → itself\nfloat32 [25]");
  log.Add(CollectionMark(), "vramstow.garbage 0 300\nB.b → itself\nfloat32 [75]");
  log.Add(CollectionMark(), "vramstow.garbage 0 200\nA.a → itself\nfloat32 [25]");
  const GarbageFacts facts = log.Facts();
  ASSERT_THAT(facts.cycles, testing::SizeIs(2));
  EXPECT_EQ(facts.cycles[0].cycle, "B.b → itself");
  EXPECT_EQ(facts.cycles[1].bytes, 200u);
  EXPECT_EQ(facts.cycles[1].collections, 2u);
}

TEST(CollectionLog, WhatIsDamagedIsLeftOutAndOtherMarksAreNotTaken) {
  CollectionLog log;
  EXPECT_FALSE(log.Add(CollectionMark(), "vramstow.census asked 0 1 1 1 1\n"));
  EXPECT_TRUE(log.Add(CollectionMark(), "vramstow.collection young 0 many 5 7"));
  EXPECT_TRUE(log.Add(CollectionMark(), "vramstow.garbage 0 -1\nA\n"));
  EXPECT_EQ(log.Facts().collections, 0u);
  EXPECT_THAT(log.Facts().cycles, testing::IsEmpty());
}

}  // namespace
}  // namespace vramstow
