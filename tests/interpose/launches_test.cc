// Tests that kernel launches are counted on request. Each launch must be counted once, and after
// the right mark.
#include <gmock/gmock.h>

#include <map>
#include <string>
#include <vector>

#include "tests/interpose/hooked.h"
#include "tracer/format/reader.h"

namespace vramstow {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

// Maps the text of the last mark and the kernel's name to the number of launches.
using LaunchCounts = std::map<std::string, uint64_t>;

class LaunchesTest : public Hooked {
 protected:
  Outcome RunWith(const std::string& launches) {
    return Run({"launches"}, {{"VRAMSTOW_LAUNCHES", launches}, {"VRAMSTOW_STACKS", "all"}});
  }

  std::vector<Event> LaunchEvents(LaunchCounts* counts) {
    std::vector<Event> events;
    TraceReader reader;
    const std::string path = folder() + "/" + OnlyTrace().file;
    EXPECT_EQ(reader.Open(path.c_str()), ReadError::kOk);
    Event event;
    std::string mark = "start";
    while (reader.Next(&event)) {
      if (event.kind == EventKind::kMark) {
        mark = std::to_string(event.offset) + std::string(reader.Annotation(event.object));
        if (event.size != 0) mark += std::to_string(event.size);
      }
      if (event.kind != EventKind::kLaunch) continue;
      events.push_back(event);
      (*counts)[mark + " " + std::string(reader.Annotation(event.object))] += event.size;
    }
    return events;
  }
};

TEST_F(LaunchesTest, AreCountedByKernelBetweenMarks) {
  const Outcome outcome = RunWith("count");
  EXPECT_EQ(outcome.status, 0) << outcome.error;
  EXPECT_THAT(outcome.error, IsEmpty());
  LaunchCounts counts;
  const std::vector<Event> events = LaunchEvents(&counts);
  const LaunchCounts expected = {
      {"start _Z5firstPf", 5},  {"1forward _Z5firstPf", 12000}, {"2forward second", 1},
      {"2forward tecond", 2},   {"2forward uecond", 3},         {"0reset dZ5firstPf", 2},
      {"0reset rZ5firstPf", 3}, {"0graphs cuGraphLaunch", 7},   {"0graphs (unknown kernel)", 1}};
  EXPECT_EQ(counts, expected);
  // Launches are recorded as sums, so a kernel that is launched thousands of times has only a few
  // events.
  EXPECT_LT(events.size(), 40u);
  for (const Event& event : events) {
    EXPECT_EQ(event.offset, 0u);
    EXPECT_EQ(event.stack, 0u);
  }
}

TEST_F(LaunchesTest, EveryNthOfAThreadIsASample) {
  const Outcome outcome = RunWith("sample=100");
  EXPECT_EQ(outcome.status, 0) << outcome.error;
  LaunchCounts counts;
  const std::vector<Event> events = LaunchEvents(&counts);
  // Twelve threads make a thousand launches each; the main thread makes fewer than a hundred.
  const LaunchCounts expected = {{"1forward _Z5firstPf", 12000}};
  EXPECT_EQ(counts, expected);
  ASSERT_EQ(events.size(), 120u);
  for (const Event& event : events) {
    EXPECT_EQ(event.size, 100u);
    EXPECT_EQ(event.offset, 1u);
    EXPECT_EQ(event.stream, 0x70u);
    EXPECT_NE(event.stack, 0u);
  }
}

TEST_F(LaunchesTest, SamplesOfEachAreAllOfThem) {
  const Outcome outcome = RunWith("sample=1");
  EXPECT_EQ(outcome.status, 0) << outcome.error;
  LaunchCounts counts;
  EXPECT_EQ(LaunchEvents(&counts).size(), 5u + 12000 + 6 + 5 + 7 + 1);
  EXPECT_EQ(counts["0graphs cuGraphLaunch"], 7u);
}

TEST_F(LaunchesTest, NobodyLooksUnlessAsked) {
  for (const char* launches : {"off", ""}) {
    const Outcome outcome = RunWith(launches);
    EXPECT_EQ(outcome.status, 0) << outcome.error;
    for (const ReadTrace& trace : Traces()) {
      EXPECT_THAT(OfKind(trace, EventKind::kLaunch), IsEmpty());
    }
  }
  const Outcome outcome = Run({"host", "every-hook"}, {{"LD_LIBRARY_PATH", kVersionedDriverFolder},
                                                       {"VRAMSTOW_LAUNCHES", "count"},
                                                       {"VRAMSTOW_TRACE", "0"}});
  EXPECT_THAT(outcome.out, HasSubstr("cuMemAlloc_v2 libvramstow-core.so"));
  EXPECT_THAT(outcome.out, Not(HasSubstr("cuLaunchKernel libvramstow-core.so")));
}

TEST_F(LaunchesTest, OnlyWhatLaunchesIsHookedForIt) {
  ExpectHooked({{"VRAMSTOW_LAUNCHES", "count"}},
               [](const HookRow& row) { return !row.submission || row.launch; });
}

TEST_F(LaunchesTest, AWrongSettingIsSaidOnceAndTheProgramRuns) {
  for (const char* wrong :
       {"sample", "sample=", "sample=0", "sample=x", "sample=10000000", "all"}) {
    const Outcome outcome = RunWith(wrong);
    EXPECT_EQ(outcome.status, 99) << "without a trace nothing records iterations";
    EXPECT_THAT(outcome.error, HasSubstr("write off, count, or sample=N"));
  }
  EXPECT_THAT(Files(), IsEmpty());
}

}  // namespace
}  // namespace vramstow
