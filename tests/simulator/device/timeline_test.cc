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

TEST(TimelineTest, MarksThatWereReachedStillOrderQueues) {
  Timeline timeline(1, false);
  const QueuePointer first = Timeline::NewQueue();
  const QueuePointer second = Timeline::NewQueue();
  const QueuePointer third = Timeline::NewQueue();
  const Mark before = timeline.Enqueue(first, nullptr, {}, 0);
  const Mark after = timeline.Enqueue(first, nullptr, {}, 0);
  const Mark of_second = timeline.Enqueue(second, nullptr, {before}, 0);
  Finish(&timeline, after);
  EXPECT_FALSE(Timeline::ComesAfter(third, before));
  timeline.Enqueue(third, nullptr, {of_second}, 0);
  for (const QueuePointer& queue : {first, second, third}) {
    EXPECT_TRUE(Timeline::ComesAfter(queue, before));
  }
  EXPECT_FALSE(Timeline::ComesAfter(third, after));
  const Mark of_second_later = timeline.Enqueue(second, nullptr, {after}, 0);
  EXPECT_TRUE(Timeline::ComesAfter(second, after));
  EXPECT_FALSE(Timeline::ComesAfter(third, after)) << "it came after an earlier point of `second`";
  Timeline::NoteOrder(third.get(), {of_second_later});
  EXPECT_TRUE(Timeline::ComesAfter(third, after));
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

constexpr uint64_t kMillisecond = 1000000;

// Simulates a pause of the program between two calls.
void Pause(Timeline* timeline, uint64_t* real_ns, uint64_t length_ns) {
  timeline->EndCall(*real_ns);
  *real_ns += length_ns;
  timeline->BeginCall(*real_ns);
}

TEST(TimelineTest, WhoPausesFindsDoneWhatACardWouldHaveDoneMeanwhile) {
  Timeline timeline(1, false);
  uint64_t real_ns = 1000;
  const QueuePointer queue = Timeline::NewQueue();
  const Mark mark = timeline.Enqueue(queue, nullptr, {}, 10 * kMillisecond);
  EXPECT_FALSE(timeline.Ask(mark));
  Pause(&timeline, &real_ns, 6 * kMillisecond);
  EXPECT_FALSE(timeline.Ask(mark)) << "a card would need 10 ms";
  Pause(&timeline, &real_ns, 6 * kMillisecond);
  EXPECT_TRUE(timeline.Ask(mark));
  EXPECT_GE(timeline.now_ns(), 12 * kMillisecond);
}

TEST(TimelineTest, APauseBeforeWorkWasEnqueuedIsNoTimeForIt) {
  Timeline timeline(1, false);
  uint64_t real_ns = 1000;
  Pause(&timeline, &real_ns, 100 * kMillisecond);
  const QueuePointer queue = Timeline::NewQueue();
  EXPECT_FALSE(timeline.Ask(timeline.Enqueue(queue, nullptr, {}, 10 * kMillisecond)));
}

TEST(TimelineTest, RealTimeFromCallToCallCountsOnceItIsLong) {
  Timeline timeline(1, false);
  uint64_t real_ns = 1000;
  const QueuePointer queue = Timeline::NewQueue();
  const Mark mark = timeline.Enqueue(queue, nullptr, {}, kMillisecond);
  for (int i = 0; i < 39; ++i) Pause(&timeline, &real_ns, kMillisecond / 2);
  EXPECT_FALSE(timeline.Ask(mark));
  Pause(&timeline, &real_ns, kMillisecond / 2);
  EXPECT_TRUE(timeline.Ask(mark));
}

TEST(TimelineTest, RealTimeInsideCallsDoesNotCount) {
  Timeline timeline(1, false);
  const QueuePointer queue = Timeline::NewQueue();
  timeline.BeginCall(1000);
  const Mark mark = timeline.Enqueue(queue, nullptr, {}, kMillisecond);
  timeline.EndCall(1000 + 100 * kMillisecond);
  timeline.BeginCall(1000 + 100 * kMillisecond);
  EXPECT_FALSE(timeline.Ask(mark));
}

class EngineWork : public Work {
 public:
  explicit EngineWork(int engine) : engine_(engine) {}
  void Run(uint64_t) override {}
  int Engine() const override { return engine_; }

 private:
  int engine_;
};

TEST(TimelineTest, AnEngineDoesOneWorkAfterTheOtherWhateverTheirQueues) {
  for (const int second : {0, 1}) {
    Timeline timeline(1, false);
    const Mark marks[] = {
        timeline.Enqueue(Timeline::NewQueue(), std::make_shared<EngineWork>(0), {},
                         10 * kMillisecond),
        timeline.Enqueue(Timeline::NewQueue(), std::make_shared<EngineWork>(second), {},
                         10 * kMillisecond)};
    timeline.Advance(15 * kMillisecond);
    EXPECT_TRUE(marks[0].Reached());
    EXPECT_EQ(second == 1, marks[1].Reached());
    timeline.Advance(6 * kMillisecond);
    EXPECT_TRUE(marks[1].Reached());
  }
}

TEST(TimelineTest, JoinTimeDelaysWorkThatHasNotStarted) {
  Timeline timeline(1, false, true);
  const QueuePointer queue = Timeline::NewQueue();
  timeline.Enqueue(queue, std::make_shared<EngineWork>(0), {}, 1000);
  const Mark second = timeline.Enqueue(queue, std::make_shared<EngineWork>(0), {}, 1000);
  timeline.JoinTime(50'000);
  EXPECT_EQ(50'000u, timeline.now_ns());
  EXPECT_FALSE(second.Reached()) << "it waited for the first one, so its turn is now";
  Finish(&timeline, second);
  EXPECT_EQ(51'000u, timeline.now_ns());
  timeline.JoinTime(20'000);
  EXPECT_EQ(51'000u, timeline.now_ns()) << "the clock never goes back";
}

TEST(TimelineTest, HostWorkIsHandedOutInOrderAndBlocksItsQueue) {
  Timeline timeline(1, false);
  std::vector<int> order;
  const QueuePointer queue = Timeline::NewQueue();
  timeline.Enqueue(queue, Note(&order, 1), {}, 0);
  timeline.Enqueue(queue, std::make_shared<Call>([](uint64_t) {}, true), {}, 0);
  const Mark last = timeline.Enqueue(queue, Note(&order, 2), {}, 0);
  EXPECT_EQ(1u, timeline.pending_host_work());
  EXPECT_EQ(nullptr, timeline.PopHostWork().work);
  timeline.Advance(1000000);
  const Timeline::HostWork item = timeline.PopHostWork();
  ASSERT_NE(nullptr, item.work);
  EXPECT_FALSE(timeline.StepTowards(last)) << "only the host can go on";
  timeline.FinishHostWork(item.queue);
  Finish(&timeline, last);
  EXPECT_EQ((std::vector<int>{1, 2}), order);
  EXPECT_EQ(0u, timeline.pending_host_work());
}

TEST(TimelineTest, HostWorkOfAnAbandonedQueueIsCountedOnce) {
  Timeline timeline(1, false);
  const QueuePointer queue = Timeline::NewQueue();
  timeline.Enqueue(queue, std::make_shared<Call>([](uint64_t) {}, true), {}, 0);
  const Timeline::HostWork item = timeline.PopHostWork();
  ASSERT_NE(nullptr, item.work);
  timeline.Abandon(queue);
  EXPECT_EQ(0u, timeline.pending_host_work());
  timeline.FinishHostWork(item.queue);
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

TEST(TimelineTest, WorkOfAModelsClockStartsWhenItCanAndTakesItsTime) {
  Timeline timeline(1, false, /*modelled=*/true);
  const QueuePointer queue = Timeline::NewQueue();
  uint64_t end = 0;
  timeline.Enqueue(queue, nullptr, {}, 5000);
  const Mark last =
      timeline.Enqueue(queue, std::make_shared<Call>([&](uint64_t time) { end = time; }), {}, 7000);
  timeline.BeginCall(1);
  timeline.EndCall(1);
  timeline.BeginCall(1'000'000'000);  // real time does not count
  EXPECT_FALSE(timeline.Ask(last));
  Finish(&timeline, last);
  EXPECT_EQ(12000u, end);
}

TEST(TimelineTest, WhoPollsAModelledCardPausesLongerAndLonger) {
  Timeline timeline(1, false, /*modelled=*/true);
  const QueuePointer queue = Timeline::NewQueue();
  const Mark mark = timeline.Enqueue(queue, nullptr, {}, 1000 * kMillisecond);
  for (int i = 0; i < 16; ++i) EXPECT_FALSE(timeline.Ask(mark));
  EXPECT_LT(timeline.now_ns(), kMillisecond / 10) << "some questions cost little";
  int asked = 0;
  while (asked < 2000 && !timeline.Ask(mark)) ++asked;
  EXPECT_LT(asked, 1100);
  EXPECT_LE(timeline.now_ns(), 1002 * kMillisecond);
  const uint64_t now = timeline.now_ns();
  EXPECT_FALSE(timeline.Ask(timeline.Enqueue(queue, nullptr, {}, kMillisecond)));
  EXPECT_LT(timeline.now_ns(), now + kMillisecond / 10) << "work was submitted since";
}

// Work of a GPU's kernels, which run one after the other.
class Kernel : public Work {
 public:
  void Run(uint64_t /*time_ns*/) override {}
  int Engine() const override { return EngineOf(0, Part::kKernels); }
};

TEST(TimelineTest, AModelledCardSaysWhenItsWorkWillHaveEnded) {
  Timeline timeline(1, false, /*modelled=*/true);
  const QueuePointer kernels = Timeline::NewQueue();
  const QueuePointer copies = Timeline::NewQueue();
  EXPECT_EQ(timeline.due_ns(), 0u);
  timeline.Enqueue(kernels, nullptr, {}, 3000);
  const Mark copied = timeline.Enqueue(copies, nullptr, {}, 10'000);
  EXPECT_EQ(timeline.due_ns(), 10'000u);
  const Mark last = timeline.Enqueue(kernels, nullptr, {copied}, 2000);
  EXPECT_EQ(timeline.due_ns(), 12'000u) << "it waits for the copy";
  EXPECT_EQ(timeline.now_ns(), 0u);
  Finish(&timeline, last);
  EXPECT_EQ(timeline.now_ns(), 12'000u) << "as was said";
  timeline.Advance(5000);
  EXPECT_EQ(timeline.due_ns(), 17'000u) << "an idle card is not behind its program";
  timeline.Enqueue(kernels, nullptr, {}, 1000);
  EXPECT_EQ(timeline.due_ns(), 18'000u);
}

TEST(TimelineTest, QueuesThatShareAnEngineAreDueOneAfterTheOther) {
  Timeline timeline(1, false, /*modelled=*/true);
  const QueuePointer left = Timeline::NewQueue();
  const QueuePointer right = Timeline::NewQueue();
  Mark last;
  for (int i = 0; i < 4; ++i) {
    timeline.Enqueue(left, std::make_shared<Kernel>(), {}, 1000);
    last = timeline.Enqueue(right, std::make_shared<Kernel>(), {}, 1000);
  }
  EXPECT_EQ(timeline.due_ns(), 8000u);
  Finish(&timeline, last);
  EXPECT_EQ(timeline.now_ns(), 8000u);
}

// The duration of host work is not known before the work has ended. When it ends, the expected ends
// of later work are corrected.
TEST(TimelineTest, WorkBehindTheHostIsDueLaterWhenTheHostWasSlow) {
  Timeline timeline(1, false, /*modelled=*/true);
  const QueuePointer queue = Timeline::NewQueue();
  timeline.Enqueue(queue, std::make_shared<Call>([](uint64_t) {}, /*on_host=*/true), {}, 0);
  timeline.Enqueue(queue, nullptr, {}, 1000);
  const Mark last = timeline.Enqueue(queue, nullptr, {}, 1000);
  EXPECT_EQ(timeline.due_ns(), 2000u);
  timeline.Advance(50'000);
  timeline.FinishHostWork(timeline.PopHostWork().queue);
  EXPECT_EQ(timeline.due_ns(), 52'000u);
  timeline.Enqueue(queue, nullptr, {}, 1000);
  EXPECT_EQ(timeline.due_ns(), 53'000u);
  Finish(&timeline, last);
  EXPECT_EQ(timeline.now_ns(), 52'000u);
  timeline.Abandon(queue);
  timeline.Advance(10'000);
  timeline.Enqueue(queue, nullptr, {}, 1000);
  EXPECT_EQ(timeline.due_ns(), timeline.now_ns() + 1000);
}

TEST(TimelineTest, AProgramFarAheadOfAModelledCardWaits) {
  Timeline timeline(1, false, /*modelled=*/true);
  const QueuePointer queue = Timeline::NewQueue();
  for (int i = 0; i < 3000; ++i) timeline.Enqueue(queue, nullptr, {}, 1000);
  EXPECT_GE(timeline.now_ns(), 1'900'000u);
  EXPECT_LE(timeline.now_ns(), 2'000'000u);
}

}  // namespace
}  // namespace vramstow::simulator
