#include "simulator/device/timeline.h"

#include <gtest/gtest.h>

#include <functional>

namespace vramstow::simulator {
namespace {

class Call : public Work {
 public:
  explicit Call(std::function<void(uint64_t)> body, bool on_host = false)
      : body_(std::move(body)), on_host_(on_host) {}
  void Run(uint64_t time_ns) override { body_(time_ns); }
  bool OnHost() const override { return on_host_; }

 private:
  std::function<void(uint64_t)> body_;
  bool on_host_;
};

std::shared_ptr<Work> Note(std::vector<int>* order, int number) {
  return std::make_shared<Call>([=](uint64_t) { order->push_back(number); });
}

void Finish(Timeline* timeline, const Mark& mark) {
  while (!mark.Reached()) ASSERT_TRUE(timeline->StepTowards(mark));
}

TEST(TimelineTest, NothingHappensAtEnqueue) {
  Timeline timeline(1, false);
  const QueuePointer queue = Timeline::NewQueue();
  std::vector<int> order;
  const Mark mark = timeline.Enqueue(queue, Note(&order, 1), {}, 0);
  EXPECT_TRUE(order.empty());
  EXPECT_FALSE(mark.Reached());
  timeline.Advance(1000000);
  EXPECT_EQ(std::vector<int>{1}, order);
  EXPECT_TRUE(mark.Reached());
}

TEST(TimelineTest, QueueKeepsItsOrderUnderEverySeed) {
  for (uint64_t seed = 0; seed < 100; ++seed) {
    Timeline timeline(seed, seed % 2 == 1);
    const QueuePointer queue = Timeline::NewQueue();
    std::vector<int> order;
    Mark last;
    for (int i = 0; i < 10; ++i) last = timeline.Enqueue(queue, Note(&order, i), {}, 100 - i);
    Finish(&timeline, last);
    EXPECT_EQ((std::vector<int>{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}), order);
  }
}

TEST(TimelineTest, SeedChoosesAmongQueues) {
  int first_wins = 0;
  for (uint64_t seed = 0; seed < 100; ++seed) {
    Timeline timeline(seed, false);
    std::vector<int> order;
    const QueuePointer left = Timeline::NewQueue();
    const QueuePointer right = Timeline::NewQueue();
    timeline.Enqueue(left, Note(&order, 1), {}, 0);
    timeline.Enqueue(right, Note(&order, 2), {}, 0);
    timeline.Advance(1000000);
    first_wins += order[0] == 1;
  }
  EXPECT_GT(first_wins, 20);
  EXPECT_LT(first_wins, 80);
}

TEST(TimelineTest, MarksOrderQueuesUnderEverySeed) {
  for (uint64_t seed = 0; seed < 200; ++seed) {
    Timeline timeline(seed, seed % 2 == 1);
    std::vector<int> order;
    const QueuePointer left = Timeline::NewQueue();
    const QueuePointer right = Timeline::NewQueue();
    const Mark slow = timeline.Enqueue(left, Note(&order, 1), {}, 50000);
    const Mark last = timeline.Enqueue(right, Note(&order, 2), {slow}, 0);
    Finish(&timeline, last);
    EXPECT_EQ((std::vector<int>{1, 2}), order);
  }
}

TEST(TimelineTest, DurationsAddUpInAQueue) {
  Timeline timeline(1, false);
  const QueuePointer queue = Timeline::NewQueue();
  uint64_t end = 0;
  timeline.Enqueue(queue, nullptr, {}, 1000000);
  const Mark mark = timeline.Enqueue(
      queue, std::make_shared<Call>([&](uint64_t time) { end = time; }), {}, 1000000);
  Finish(&timeline, mark);
  EXPECT_GE(end, 2000000u);
  EXPECT_LT(end, 2020000u);
  EXPECT_GE(timeline.now_ns(), end) << "waiting takes the host along";
}

TEST(TimelineTest, AdversarialOrderDoesOnlyWhatIsNeeded) {
  Timeline timeline(1, true);
  std::vector<int> order;
  const QueuePointer left = Timeline::NewQueue();
  const QueuePointer right = Timeline::NewQueue();
  timeline.Enqueue(left, Note(&order, 1), {}, 0);
  const Mark mark = timeline.Enqueue(right, Note(&order, 2), {}, 1000000);
  timeline.Advance(1000000000);
  EXPECT_TRUE(order.empty());
  Finish(&timeline, mark);
  EXPECT_EQ(std::vector<int>{2}, order);
}

TEST(TimelineTest, AskingComesToAnEnd) {
  for (const bool adversarial : {false, true}) {
    Timeline timeline(1, adversarial);
    const QueuePointer queue = Timeline::NewQueue();
    const Mark mark = timeline.Enqueue(queue, nullptr, {}, 100000);
    int asked = 0;
    while (!timeline.Ask(mark)) ASSERT_LT(++asked, 1000);
    EXPECT_GT(asked, 1);
  }
}

TEST(TimelineTest, HostWorkIsHandedOutInOrderAndBlocksItsQueue) {
  Timeline timeline(1, false);
  std::vector<int> order;
  const QueuePointer queue = Timeline::NewQueue();
  timeline.Enqueue(queue, Note(&order, 1), {}, 0);
  timeline.Enqueue(queue, std::make_shared<Call>([](uint64_t) {}, true), {}, 0);
  const Mark last = timeline.Enqueue(queue, Note(&order, 2), {}, 0);
  EXPECT_EQ(1u, timeline.pending_host_work());
  EXPECT_EQ(nullptr, timeline.TakeHostWork().work);
  timeline.Advance(1000000);
  const Timeline::HostWork item = timeline.TakeHostWork();
  ASSERT_NE(nullptr, item.work);
  EXPECT_FALSE(timeline.StepTowards(last)) << "only the host can go on";
  timeline.FinishHostWork(item.queue);
  Finish(&timeline, last);
  EXPECT_EQ((std::vector<int>{1, 2}), order);
  EXPECT_EQ(0u, timeline.pending_host_work());
}

TEST(TimelineTest, AbandonedQueueReleasesWhoWaitsForIt) {
  Timeline timeline(1, false);
  std::vector<int> order;
  const QueuePointer left = Timeline::NewQueue();
  const QueuePointer right = Timeline::NewQueue();
  const Mark never = timeline.Enqueue(left, Note(&order, 1), {}, 0);
  const Mark mark = timeline.Enqueue(right, Note(&order, 2), {never}, 0);
  timeline.Abandon(left);
  Finish(&timeline, mark);
  EXPECT_EQ(std::vector<int>{2}, order);
}

}  // namespace
}  // namespace vramstow::simulator
