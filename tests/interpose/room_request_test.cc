// Tests how requests for memory wait for an answer, and which of them is refused.
#include "interpose/core/pools/room_request.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <future>
#include <thread>
#include <vector>

namespace vramstow {
namespace {

class RoomRequestTest : public testing::Test {
 protected:
  void SetUp() override {
    const auto count = [](void* wakes) { ++*static_cast<std::atomic<int>*>(wakes); };
    request_.StartAnswering(count, &wakes_);
  }
  std::future<bool> Ask(uint64_t bytes) {
    const int before = wakes_;
    auto answer = std::async(std::launch::async, [this, bytes] { return request_.Ask(bytes); });
    // A request wakes the thread that answers once it can be answered.
    while (wakes_ == before) std::this_thread::yield();
    return answer;
  }

  RoomRequest request_;
  std::atomic<int> wakes_{0};
};

TEST_F(RoomRequestTest, WithoutAnswersARequestIsRefusedAtOnce) {
  RoomRequest request;
  EXPECT_FALSE(request.Ask(1));
  EXPECT_EQ(request.wanted_bytes(), 0u);
}

TEST_F(RoomRequestTest, AGrantAnswersAllRequests) {
  std::vector<std::future<bool>> answers;
  for (uint64_t bytes : {5, 7, 9}) answers.push_back(Ask(bytes));
  EXPECT_EQ(request_.wanted_bytes(), 21u);
  request_.GrantAll();
  for (auto& answer : answers) EXPECT_TRUE(answer.get());
  EXPECT_EQ(request_.wanted_bytes(), 0u);
}

TEST_F(RoomRequestTest, ARefusalAnswersTheLargestRequestAndTheOthersWait) {
  auto small = Ask(5);
  auto large = Ask(90);
  auto medium = Ask(7);
  request_.RefuseLargest();
  EXPECT_EQ(request_.wanted_bytes(), 12u);
  EXPECT_FALSE(large.get());
  request_.GrantAll();
  EXPECT_TRUE(small.get());
  EXPECT_TRUE(medium.get());
  EXPECT_EQ(request_.wanted_bytes(), 0u);
}

TEST_F(RoomRequestTest, TheEndOfAnswersRefusesAllRequests) {
  auto one = Ask(5);
  auto other = Ask(7);
  request_.StopAnswering();
  EXPECT_FALSE(one.get());
  EXPECT_FALSE(other.get());
  EXPECT_EQ(request_.wanted_bytes(), 0u);
}

TEST_F(RoomRequestTest, ManyThreadsAllGetTheirAnswers) {
  constexpr int kThreads = 100;  // more than there are places
  std::vector<std::future<int>> answers;
  for (int i = 0; i < kThreads; ++i) {
    answers.push_back(std::async(std::launch::async, [this, i] {
      int granted = 0;
      for (int n = 0; n < 50; ++n) granted += request_.Ask(uint64_t(1 + (i + n) % 7));
      return granted;
    }));
  }
  const auto all_ended = [&] {
    for (auto& answer : answers) {
      if (answer.wait_for(std::chrono::seconds(0)) != std::future_status::ready) return false;
    }
    return true;
  };
  while (!all_ended()) {
    request_.RefuseLargest();
    request_.GrantAll();
  }
  int granted = 0;
  for (auto& answer : answers) granted += answer.get();
  EXPECT_GT(granted, 0);
  EXPECT_EQ(request_.wanted_bytes(), 0u);
}

}  // namespace
}  // namespace vramstow
