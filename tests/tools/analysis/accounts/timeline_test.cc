#include "tools/analysis/accounts/timeline.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace vramstow {
namespace {

// Adds a level to the timeline, as the analyzer does.
void Put(Timeline* timeline, uint64_t time_ns, uint64_t before, uint64_t level) {
  TimelinePoint state;
  state.allocated_last = before;
  if (timeline->IsBeyond(time_ns)) timeline->Close(state, time_ns);
  timeline->Note(level, 0, 0, 0);
}

TEST(Timeline, KeepsTheHighestValueOfEveryIntervalWhateverTheLength) {
  std::mt19937_64 random(3);
  for (uint64_t step : {1u, 1000u, 1000000u, 1000000000u}) {
    Timeline timeline;
    std::vector<std::pair<uint64_t, uint64_t>> history;  // time, level
    uint64_t time = 0;
    uint64_t level = 0;
    for (int i = 0; i < 3000; ++i) {
      time += random() % (2 * step) + (i == 1500 ? 400 * step : 0);
      const uint64_t next = random() % 1000;
      Put(&timeline, time, level, next);
      level = next;
      history.emplace_back(time, level);
    }
    TimelinePoint last;
    last.allocated_last = level;
    const TimelineFacts facts = timeline.Finish(last);
    ASSERT_LE(facts.points.size(), Timeline::kMaxPoints);
    std::vector<uint64_t> highest(facts.points.size(), 0);
    std::vector<uint64_t> ends(facts.points.size(), 0);
    uint64_t current = 0;
    size_t next = 0;
    for (size_t i = 0; i < facts.points.size(); ++i) {
      highest[i] = current;
      while (next < history.size() && history[next].first < (i + 1) * facts.interval_ns) {
        current = history[next++].second;
        highest[i] = std::max(highest[i], current);
      }
      ends[i] = current;
      ASSERT_EQ(facts.points[i].allocated_highest, highest[i]) << step << " " << i;
      ASSERT_EQ(facts.points[i].allocated_last, ends[i]) << step << " " << i;
    }
    EXPECT_EQ(next, history.size());
  }
}

TEST(Timeline, ATimeBeyondAllMeasureIsTakenForTheLongest) {
  Timeline timeline;
  Put(&timeline, 5, 0, 10);
  Put(&timeline, ~uint64_t{0}, 10, 20);
  Put(&timeline, ~uint64_t{0}, 20, 30);
  const TimelineFacts facts = timeline.Finish({});
  EXPECT_LE(facts.points.size(), Timeline::kMaxPoints);
  EXPECT_EQ(facts.points.back().allocated_highest, 30u);
}

}  // namespace
}  // namespace vramstow
