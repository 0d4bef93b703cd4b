// Tests the table of live streams, which is used instead of a query to the driver.
#include "interpose/core/pools/live_streams.h"

#include <gtest/gtest.h>

#include <memory>

namespace vramstow {
namespace {

constexpr int kContexts[2] = {};
const void* const kHere = &kContexts[0];
const void* const kThere = &kContexts[1];

class LiveStreamsTest : public testing::Test {
 protected:
  StreamFate FateOf(uint64_t stream) {
    context_ = nullptr;
    return streams_->Find(stream, &context_);
  }

  const void* context_ = nullptr;
  std::unique_ptr<LiveStreams> streams_ = std::make_unique<LiveStreams>();
};

TEST_F(LiveStreamsTest, AStreamLivesFromItsMakingToItsEnd) {
  EXPECT_EQ(StreamFate::kUnknown, FateOf(0x1000));
  streams_->Made(0x1000, kHere);
  EXPECT_EQ(StreamFate::kLives, FateOf(0x1000));
  EXPECT_EQ(kHere, context_);
  streams_->Ends(0x1000);
  EXPECT_EQ(StreamFate::kGone, FateOf(0x1000));
  streams_->Made(0x1000, kThere);
  EXPECT_EQ(StreamFate::kLives, FateOf(0x1000));
  EXPECT_EQ(kThere, context_);
  EXPECT_EQ(StreamFate::kUnknown, FateOf(0)) << "the default stream";
}

TEST_F(LiveStreamsTest, AStreamThatTheDriverKeptGoesOnAndOneThatIsGoneDoesNot) {
  streams_->Made(0x1000, kHere);
  streams_->Ends(0x1000);
  streams_->Stays(0x1000);
  EXPECT_EQ(StreamFate::kLives, FateOf(0x1000));
  streams_->Ends(0x1000);
  for (int i = 0; i < 3; ++i) {  // mistakes of the program, which the driver refuses
    streams_->Ends(0x1000);
    streams_->Stays(0x1000);
    EXPECT_EQ(StreamFate::kGone, FateOf(0x1000));
  }
}

TEST_F(LiveStreamsTest, StreamsGoWithTheirContext) {
  streams_->Made(0x1000, kHere);
  streams_->Made(0x2000, kThere);
  streams_->ContextGone(kHere);
  EXPECT_EQ(StreamFate::kGone, FateOf(0x1000));
  EXPECT_EQ(StreamFate::kLives, FateOf(0x2000));
}

TEST_F(LiveStreamsTest, ThoseThatLiveAreKeptWhateverComesAndGoes) {
  constexpr uint64_t kFirst = 0x7f0000000000;
  constexpr uint64_t kStep = 0x340;
  constexpr uint64_t kKept = 500;
  for (uint64_t i = 0; i < kKept; ++i) streams_->Made(kFirst + i * kStep, kHere);
  for (uint64_t i = kKept; i < 100'000; ++i) {
    streams_->Made(kFirst + i * kStep, kHere);
    ASSERT_EQ(StreamFate::kLives, FateOf(kFirst + i * kStep)) << i;
    streams_->Ends(kFirst + i * kStep);
    ASSERT_EQ(StreamFate::kGone, FateOf(kFirst + i * kStep)) << i;
  }
  for (uint64_t i = 0; i < kKept; ++i) EXPECT_EQ(StreamFate::kLives, FateOf(kFirst + i * kStep));
}

// There are more streams than the table has room for. A stream that is not in the table must count
// as unknown.
TEST_F(LiveStreamsTest, OneForWhichThereIsNoRoomIsUnknown) {
  uint64_t known = 0;
  for (uint64_t stream = 0x1000; stream < 0x1000 + 10'000; ++stream) streams_->Made(stream, kHere);
  for (uint64_t stream = 0x1000; stream < 0x1000 + 10'000; ++stream) {
    const StreamFate fate = FateOf(stream);
    ASSERT_NE(StreamFate::kGone, fate);
    known += fate == StreamFate::kLives ? 1 : 0;
  }
  EXPECT_GT(known, 2'000U);
  streams_->Ends(1);
  streams_->Stays(1);
  EXPECT_EQ(StreamFate::kUnknown, FateOf(1));
}

}  // namespace
}  // namespace vramstow
