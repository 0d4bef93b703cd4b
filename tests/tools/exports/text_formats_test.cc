#include "tools/exports/text_formats.h"

#include <gtest/gtest.h>

#include "tests/tools/list_source.h"

namespace vramstow {
namespace {

std::string RmmLogOf(const std::vector<Event>& events) {
  RmmWriter rmm;
  std::string text;
  for (const Event& event : events) rmm.Append(event, &text);
  return text;
}

TEST(RmmWriter, ABlockWhoseFreeWasRefusedIsAllocatedAgain) {
  History history;
  history.Allocate(0x10000, 4096);
  history.Allocate(0x20000, 512);
  const uint64_t refused = history.Free(0x10000);
  history.Free(0x20000);
  history.Refuse(refused);
  history.Refuse(4711);  // of a free that is not in the trace
  EXPECT_EQ(RmmLogOf(history.events()),
            "1,00:00:00:001000,allocate,0x10000,4096,0x0\n"
            "1,00:00:00:002000,allocate,0x20000,512,0x0\n"
            "1,00:00:00:003000,free,0x10000,4096,0x0\n"
            "1,00:00:00:004000,free,0x20000,512,0x0\n"
            "1,00:00:00:005000,allocate,0x10000,4096,0x0\n");
}

TEST(LevelsOverTime, TheTimelineHasTheLevelsOfEventsThatAreOnlySums) {
  Facts facts;
  facts.report.folded_until_ns = 250;
  facts.timeline.interval_ns = 100;
  facts.timeline.points.resize(4);
  for (uint64_t i = 0; i < 4; ++i) facts.timeline.points[i].allocated_highest = i + 1;
  Detail detail;
  for (const auto& [time_ns, allocated] : {std::pair(120, 7), {250, 8}, {251, 9}, {350, 4}}) {
    LevelStep& step = detail.levels.emplace_back();
    step.time_ns = static_cast<uint64_t>(time_ns);
    step.allocated = static_cast<uint64_t>(allocated);
  }
  std::vector<std::pair<uint64_t, uint64_t>> levels;
  for (const LevelStep& step : LevelsOverTime(facts, detail)) {
    levels.emplace_back(step.time_ns, step.allocated);
  }
  const std::vector<std::pair<uint64_t, uint64_t>> expected = {
      {0, 1}, {100, 2}, {200, 3}, {251, 9}, {350, 4}};
  EXPECT_EQ(levels, expected);
  EXPECT_NE(ChromeTrace(facts, detail).find("\"allocated\":2"), std::string::npos);
  facts.report.folded_until_ns = 0;
  EXPECT_EQ(LevelsOverTime(facts, detail).size(), 4u);
}

}  // namespace
}  // namespace vramstow
