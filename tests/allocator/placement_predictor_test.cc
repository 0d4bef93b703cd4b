// Tests where the blocks of a repeating job are predicted to lie, and when predictions are
// suspended.
#include "allocator/placement/placement_predictor.h"

#include <gtest/gtest.h>

#include <memory>

#include "base/units.h"

namespace vramstow {
namespace {

constexpr uint64_t kRequests = 64;  // requests of an iteration

// A job that requests the same sizes in each iteration (round), and gets the same addresses.
class Loop {
 public:
  PlacementPredictor& predictor() { return *predictor_; }

  // Runs one iteration and returns how many addresses were predicted correctly.
  uint64_t Round(uint64_t requests = kRequests, uint64_t driver_calls = 0) {
    uint64_t right = 0;
    for (uint64_t i = 0; i < requests; ++i) {
      const uint64_t size = (i * 37 % 61 + 1) * kMiB;
      const uint64_t place = (i + 1) * kGiB;
      if (predictor_->Predict(size) == place) ++right;
      if (i < driver_calls) predictor_->NeededDriver();
      predictor_->OnServed(size, place);
    }
    return right;
  }
  // Returns after how many iterations the predictor stops repeating, or `most`.
  int RoundsWhileRepeating(uint64_t driver_calls, int most) {
    for (int round = 0; round < most; ++round) {
      if (!predictor_->Repeating()) return round;
      Round(kRequests, driver_calls);
    }
    return most;
  }

 private:
  std::unique_ptr<PlacementPredictor> predictor_ = std::make_unique<PlacementPredictor>();
};

TEST(PlacementPredictor, TheSecondRoundIsPredictedAndTheThirdOneWhole) {
  Loop loop;
  EXPECT_EQ(loop.Round(), 0);
  EXPECT_GT(loop.Round(), kRequests / 2);
  EXPECT_EQ(loop.Round(), kRequests);
  EXPECT_TRUE(loop.predictor().Repeating());
  EXPECT_EQ(loop.predictor().round(), kRequests);
}

TEST(PlacementPredictor, SizesThatNeverCamePredictNothing) {
  Loop loop;
  for (int round = 0; round < 3; ++round) loop.Round();
  EXPECT_EQ(loop.predictor().Predict(kMiB / 2), 0);
  EXPECT_FALSE(loop.predictor().Repeating());
}

TEST(PlacementPredictor, ALoopThatHasSettledGoesOnForEver) {
  Loop loop;
  for (int round = 0; round < 3; ++round) loop.Round();
  EXPECT_EQ(loop.RoundsWhileRepeating(0, 500), 500);
}

TEST(PlacementPredictor, ALoopThatNeverSettlesIsGivenUpForSomeTimeAndTriedAgain) {
  Loop loop;
  for (int round = 0; round < 3; ++round) loop.Round();
  const int patience = loop.RoundsWhileRepeating(2, 500);
  EXPECT_GE(patience, 8) << "convolutional nets take up to seven rounds";
  EXPECT_LT(patience, 32);
  int rest = 0;
  for (; !loop.predictor().Repeating() && rest < 500; ++rest) {
    EXPECT_EQ(loop.Round(), kRequests) << "what is known is kept";
  }
  EXPECT_GT(rest, 2 * patience);
  EXPECT_LT(rest, 500);
}

TEST(PlacementPredictor, AnotherLoopIsTriedAtOnce) {
  Loop loop;
  for (int round = 0; round < 3; ++round) loop.Round();
  ASSERT_LT(loop.RoundsWhileRepeating(2, 500), 500);
  for (int round = 0; round < 4; ++round) loop.Round(kRequests / 2);
  EXPECT_TRUE(loop.predictor().Repeating());
}

}  // namespace
}  // namespace vramstow
