// Tests RMM logs, minimalloc problems, profiler traces and timelines.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "tools/formats/csv.h"
#include "tools/formats/memory_timeline.h"
#include "tools/formats/minimalloc.h"
#include "tools/formats/profiler_trace.h"
#include "tools/formats/rmm_log.h"

namespace vramstow {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;

Input Of(std::string_view bytes) {
  absl::StatusOr<Input> input = Input::OfBytes("file", bytes);
  EXPECT_TRUE(input.ok()) << input.status();
  return *std::move(input);
}

template <typename T>
std::string Sentence(const absl::StatusOr<T>& result) {
  EXPECT_FALSE(result.ok());
  return std::string(result.status().message());
}

TEST(Csv, FieldsAreFoundByName) {
  CsvReader csv("\xef\xbb\xbf b , a\r\n\r\n1,2\r\n3\n4,5,6");
  EXPECT_EQ(csv.Column("a"), 1);
  EXPECT_EQ(csv.Column("c"), -1);
  ASSERT_TRUE(csv.NextLine());
  EXPECT_EQ(csv.line(), 3U);
  EXPECT_EQ(csv.Field(1), "2");
  ASSERT_TRUE(csv.NextLine());
  EXPECT_EQ(csv.Field(1), "");
  EXPECT_FALSE(csv.is_unfinished());
  ASSERT_TRUE(csv.NextLine());
  EXPECT_TRUE(csv.is_unfinished());
  EXPECT_EQ(csv.Field(-1), "");
  EXPECT_FALSE(csv.NextLine());
}

constexpr std::string_view kRmmLog =
    "Thread,Time,Action,Pointer,Size,Stream\n"
    "11,23:59:59:900000,allocate,0x7f0000000000,1024,0x0\n"
    "12,23:59:59.950000,allocate,0x7f0000000400,100,0x2\n"
    "11,00:00:00:100000,free,0x7f0000000000,1024,0x0\n"
    "11,00:00:00:050000,allocate failure,(nil),99999,0x0\n";

TEST(RmmLog, LinesAreEvents) {
  const absl::StatusOr<EventList> list = ReadRmmLog(Of(kRmmLog));
  ASSERT_TRUE(list.ok()) << list.status();
  ASSERT_EQ(list->events.size(), 4U);
  EXPECT_EQ(list->events[0].kind, EventKind::kAllocate);
  EXPECT_EQ(list->events[0].address, 0x7f0000000000U);
  EXPECT_EQ(list->events[0].layer, Layer::kFramework);
  EXPECT_EQ(list->events[0].thread, 11U);
  EXPECT_EQ(list->events[1].stream, 2U);
  EXPECT_EQ(list->events[1].time_ns, 50'000'000U);
  EXPECT_EQ(list->events[2].kind, EventKind::kFree);
  EXPECT_EQ(list->events[2].time_ns, 200'000'000U);  // midnight has passed
  EXPECT_EQ(list->events[3].result, 2);
  EXPECT_EQ(list->events[3].time_ns, 200'000'000U);  // slightly out of order: time stands still
  EXPECT_EQ(list->CallName(list->events[3].call), "allocate failure");
  EXPECT_EQ(list->CallName(999), "unknown");
  EXPECT_TRUE(list->complete);
  EXPECT_THAT(list->missing, Contains(HasSubstr("device 0 is assumed")));
}

TEST(RmmLog, TheLogOfRmmsGuideIsRead) {
  const absl::StatusOr<EventList> list =
      ReadRmmLog(Of("Thread,Time,Action,Pointer,Size,Stream\n"
                    "14,1760000000.000000,allocate,0x7f8a40000000,1048576,0x0\n"
                    "14,1760000000.25,deallocate,0x7f8a40000000,1048576,0x0\n"
                    "14,1760000001,allocate,0x7f8a40000000,1048576,0x0\n"
                    "15,1760000000.5,deallocate,0x7f8a40000000,1048576,0x0\n"
                    "15,99999999999999999999,allocate,0x1,1,0x0\n"
                    "15,1760000002.x,allocate,0x2,1,0x0\n"));
  ASSERT_TRUE(list.ok()) << list.status();
  ASSERT_EQ(list->events.size(), 6U);
  EXPECT_EQ(list->events[1].kind, EventKind::kFree);
  EXPECT_EQ(list->events[1].time_ns, 250'000'000U);
  EXPECT_EQ(list->events[2].time_ns, 1'000'000'000U);
  EXPECT_EQ(list->events[3].time_ns, 1'000'000'000U);  // threads write slightly out of order
  EXPECT_THAT(list->missing, Contains("no time in 2 lines"));
}

TEST(RmmLog, WhatCannotBeReadIsCountedAndTheFirstNamed) {
  const absl::StatusOr<EventList> list =
      ReadRmmLog(Of("Action,Pointer,Size\n"
                    "allocate,0x1000,12\n"
                    "dance,0x1000,12\n"
                    "free,pointer,12\n"
                    "free,0x1000,-1\n"
                    "free,0x10"));
  ASSERT_TRUE(list.ok()) << list.status();
  EXPECT_EQ(list->events.size(), 1U);
  EXPECT_FALSE(list->complete);
  EXPECT_THAT(list->missing, Contains("the log ends in the middle of line 6"));
  EXPECT_THAT(
      list->missing,
      Contains("3 lines could not be used and were left out, the first line 3: the action is "
               "'dance'"));
  EXPECT_THAT(list->missing, Contains("no time in 1 line"));
  EXPECT_THAT(list->missing, Contains("no streams"));
}

TEST(RmmLog, OtherColumnsAreNone) {
  EXPECT_THAT(Sentence(ReadRmmLog(Of("a,b\n1,2\n"))), HasSubstr("file is not an RMM log"));
  EXPECT_THAT(Sentence(ReadRmmLog(Of(""))), HasSubstr("not an RMM log"));
}

TEST(Minimalloc, FreesComeBeforeAllocationsOfTheSameMoment) {
  const auto buffers = ReadMinimalloc(Of("id,lower,upper,size\nx,0,10,8\ny,10,20,8\nz,5,11,4\n"));
  ASSERT_TRUE(buffers.ok()) << buffers.status();
  EXPECT_EQ(MaximumLoad(*buffers), 12U);
  const EventList list = MinimallocEvents(*buffers);
  std::vector<std::string> order;
  for (const Event& event : list.events) {
    order.push_back((*buffers)[event.object - 1].id +
                    (event.kind == EventKind::kAllocate ? "+" : "-"));
  }
  EXPECT_THAT(order, ElementsAre("x+", "z+", "x-", "y+", "z-", "y-"));
  EXPECT_EQ(list.events.back().time_ns, 20U);
}

TEST(Minimalloc, OffsetsAreAddresses) {
  const auto buffers = ReadMinimalloc(Of("id,lower,upper,size,offset\nx,0,10,8,256\n"));
  ASSERT_TRUE(buffers.ok()) << buffers.status();
  EXPECT_EQ(MinimallocEvents(*buffers).events[0].address, 256U);
}

TEST(Minimalloc, AWrongLineIsNamed) {
  for (const char* line : {"x,1,1,5", "x,2,1,5", "x,a,1,5", "x,1,2,-5", "x,1"}) {
    const std::string bytes = std::string("id,lower,upper,size\nok,0,1,1\n") + line + "\n";
    EXPECT_THAT(Sentence(ReadMinimalloc(Of(bytes))), HasSubstr("file, line 3: ")) << line;
  }
  EXPECT_THAT(Sentence(ReadMinimalloc(Of("id,lower\n"))), HasSubstr("not a minimalloc problem"));
}

constexpr std::string_view kTrace = R"({
  "schemaVersion": 1,
  "distributedInfo": {"backend": "nccl", "rank": 3, "world_size": 8},
  "deviceProperties": [{"id": 0, "name": "NVIDIA H100", "totalGlobalMem": 85000000000}],
  "traceEvents": [
    {"ph": "X", "cat": "cpu_op", "name": "aten::empty", "ts": 99, "args": {"Addr": 1, "Bytes": 7}},
    {"ph": "i", "cat": "cpu_instant_event", "s": "t", "name": "[memory]", "pid": 1, "tid": 22,
     "ts": 1000.125, "args": {"Total Reserved": 2097152, "Total Allocated": 1512, "Bytes": 512,
     "Addr": 139984000000000, "Device Id": 0, "Device Type": 1, "Ev Idx": 0}},
    {"ph": "i", "name": "[memory]", "ts": 1002, "args": {"Bytes": -512, "Device Id": 0,
     "Device Type": 1, "Addr": 139984000000000, "Total Allocated": 600}},
    {"ph": "i", "name": "[memory]", "ts": 1001.5, "args": {"Bytes": -400, "Device Id": 0,
     "Device Type": 1, "Addr": 4096, "Total Allocated": 1112}},
    {"ph": "i", "name": "[memory]", "ts": 1003, "args": {"Bytes": 64, "Device Id": -1,
     "Device Type": 0, "Addr": 77}},
    {"ph": "i", "name": "[OutOfMemory]", "ts": 1004, "args": {"Bytes": 999, "Device Id": 0,
     "Device Type": 1, "Total Allocated": 600}}
  ],
  "traceName": "x"
})";

TEST(ProfilerTrace, MemoryEventsAreFoundAndSorted) {
  const absl::StatusOr<ProfilerTrace> trace = ReadProfilerTrace(Of(kTrace));
  ASSERT_TRUE(trace.ok()) << trace.status();
  EXPECT_EQ(trace->all_events, 6U);
  ASSERT_EQ(trace->samples.size(), 5U);
  EXPECT_EQ(trace->samples[0].time_ns, 1'000'125);
  EXPECT_EQ(trace->samples[0].total_reserved, 2'097'152U);
  EXPECT_EQ(trace->samples[0].thread, 22U);
  EXPECT_EQ(trace->samples[1].bytes, -400);
  EXPECT_TRUE(trace->samples[4].out_of_memory);
  EXPECT_EQ(trace->facts.at("process.rank"), "3");
  EXPECT_EQ(trace->facts.at("device.0.name"), "NVIDIA H100");
  EXPECT_EQ(trace->facts.at("device.0.total_bytes"), "85000000000");
}

TEST(ProfilerTrace, FreesOfUnseenMemoryAreOpenedAtTheStart) {
  const absl::StatusOr<ProfilerTrace> trace = ReadProfilerTrace(Of(kTrace));
  ASSERT_TRUE(trace.ok()) << trace.status();
  const EventList list = ProfilerEvents(*trace);
  std::vector<std::string> calls;
  for (const Event& event : list.events) calls.emplace_back(list.CallName(event.call));
  EXPECT_THAT(calls, ElementsAre("window_start", "window_start", "[memory]", "[memory]", "[memory]",
                                 "[OutOfMemory]"));
  EXPECT_EQ(list.events[0].address, 4096U);
  EXPECT_EQ(list.events[0].size, 400U);
  EXPECT_EQ(list.events[1].size, 600U);  // bytes of the totals beyond the blocks
  EXPECT_EQ(list.events[3].kind, EventKind::kFree);
  EXPECT_EQ(list.events[3].time_ns, 1375U);
  EXPECT_EQ(list.events[5].result, 2);
  EXPECT_THAT(list.missing, Contains(HasSubstr("600 bytes on device 0 were allocated before")));
  EXPECT_THAT(list.missing, Contains(HasSubstr("1 event of CPU memory left out")));
}

// Makes the trace of three blocks and their frees, with one more event after the first.
std::string TraceWith(std::string_view event) {
  std::string text = "[";
  for (int i = 0; i < 6; ++i) {
    text += R"({"name": "[memory]", "ts": )" + std::to_string(10 + i) +
            R"(, "args": {"Device Type": 1, "Device Id": 0, "Total Allocated": 0, "Addr": )" +
            std::to_string(4096 * (1 + i % 3)) + R"(, "Bytes": )" + (i < 3 ? "" : "-") + "512}},";
    if (i == 0) text.append(event) += ",";
  }
  text.back() = ']';
  return text;
}

TEST(ProfilerTrace, WhatTheProfilerWritesIsReadWhereItIsNoJson) {
  using namespace std::string_view_literals;  // NOLINT(google-build-using-namespace)
  for (const std::string_view event : {
           R"j({"args": {"memory bandwidth (GB/s)": inf}})j"sv,
           R"j({"args": {"a": -inf, "b":nan, "c": -nan(ind), "d": -Infinity, "e": NaN}})j"sv,
           R"j({"name": "torch\cuda\__init__.py(219): _lazy_init", "ts": 1})j"sv,
           R"j({"name": "torch\cuda\__init__.py", "file": "C:\", "ts": 1})j"sv,
           R"j({"name": "\u12", "b": "\ud800", "c": "\udc00\ud800\udc00", "d": "\x41"})j"sv,
           "{\"name\": \"a\tb\nc\x01\x1f\", \"ts\": 1}"sv,
           "{\"name\": \"\0\", \"ts\": 1}"sv,
           "{\"\xff\xfe\x80name\": \"\xc3\xa4\xed\xa0\x80\", \"ts\": 1}"sv,
       }) {
    for (const size_t filler : {0, 65'000, 65'400, 65'500}) {
      // The trace must also be read correctly if the event lies across the end of the reader's
      // buffer.
      std::string text(filler, ' ');
      text += TraceWith(event);
      const absl::StatusOr<ProfilerTrace> trace = ReadProfilerTrace(Of(text));
      ASSERT_TRUE(trace.ok()) << event << ": " << trace.status();
      EXPECT_TRUE(trace->complete) << event;
      EXPECT_EQ(trace->samples.size(), 6U) << event;
    }
  }
}

TEST(ProfilerTrace, ATextThatIsJsonIsReadAsItIsWritten) {
  const std::string_view name = R"(ProfilerStep# \"a\", \u00e4\ud83d\ude00\\ \n \/ 1e5 nan)";
  const absl::StatusOr<ProfilerTrace> trace = ReadProfilerTrace(
      Of(TraceWith(R"({"name": ")" + std::string(name) + R"(", "ts": 1e1, "ok": true})")));
  ASSERT_TRUE(trace.ok()) << trace.status();
  ASSERT_EQ(trace->steps.size(), 1U);
  EXPECT_EQ(trace->steps[0].name, "ProfilerStep# \"a\", \u00e4\U0001F600\\ \n / 1e5 nan");
  EXPECT_EQ(trace->steps[0].time_ns, 10'000);
}

TEST(ProfilerTrace, DamageIsNamedByItsByteInTheFile) {
  const std::string event = R"({"a": inf, "b": "\q", "c": ?})";
  const std::string text = TraceWith(event);
  const absl::StatusOr<ProfilerTrace> trace = ReadProfilerTrace(Of(text));
  ASSERT_TRUE(trace.ok()) << trace.status();
  EXPECT_FALSE(trace->complete);
  EXPECT_THAT(trace->missing, Contains(HasSubstr("at byte " + std::to_string(text.find('?') + 1))));
}

TEST(ProfilerTrace, ZerosInPlaceOfTotalsAreNotBelieved) {
  const absl::StatusOr<ProfilerTrace> trace = ReadProfilerTrace(Of(TraceWith("{}")));
  ASSERT_TRUE(trace.ok()) << trace.status();
  EXPECT_EQ(ProfilerEvents(*trace).events.size(), 6U);
}

TEST(ProfilerTrace, TotalsThatChangeWithoutAnEventAreBelieved) {
  // 1000 bytes are allocated before the trace; 300 of them are freed without an event between the
  // second and the third line.
  struct Line {
    int64_t bytes;
    uint64_t address;
    uint64_t allocated;
  };
  std::string text = "[";
  int time = 0;
  for (const Line& line : {Line{100, 1, 1100}, Line{100, 2, 1200}, Line{-100, 1, 800},
                           Line{100, 1, 900}, Line{50, 3, 700}, Line{50, 4, 1000}}) {
    text += R"({"name": "[memory]", "ts": )" + std::to_string(++time) +
            R"(, "args": {"Device Type": 1, "Device Id": 0, "Total Reserved": 2000, "Bytes": )" +
            std::to_string(line.bytes) + R"(, "Addr": )" + std::to_string(line.address) +
            R"(, "Total Allocated": )" + std::to_string(line.allocated) + "}},";
  }
  text.back() = ']';
  const absl::StatusOr<ProfilerTrace> trace = ReadProfilerTrace(Of(text));
  ASSERT_TRUE(trace.ok()) << trace.status();
  const EventList list = ProfilerEvents(*trace);
  int64_t level = 0;
  std::vector<int64_t> levels;
  for (const Event& event : list.events) {
    level += static_cast<int64_t>(event.size) * (event.kind == EventKind::kFree ? -1 : 1);
    if (list.CallName(event.call) == "[memory]") levels.push_back(level);
  }
  // The levels that the last lines state contradict each other, so these lines are not in the order
  // of the events.
  EXPECT_THAT(levels, ElementsAre(1100, 1200, 800, 900, 950, 1000));
  EXPECT_EQ(list.reserved.size(), 6U);
  EXPECT_THAT(list.missing, Contains(HasSubstr("1000 bytes on device 0 were allocated before")));
  EXPECT_THAT(list.missing, Contains(HasSubstr("changes without an event in 1 place")));
}

TEST(ProfilerTrace, EachDeviceHasItsOwnNameWhichIsCut) {
  std::string devices;
  for (int i = 0; i < 2000; ++i) {
    devices += R"(,{"id": )" + std::to_string(i + 2) + R"(, "totalGlobalMem": 1})";
  }
  const std::string text = R"({"deviceProperties": [{"id": 0, "name": ")" +
                           std::string(100'000, 'n') +
                           R"(", "totalGlobalMem": 1}, {"id": 1, "totalGlobalMem": 2})" + devices +
                           R"(], "traceEvents": )" + TraceWith("{}") + "}";
  const absl::StatusOr<ProfilerTrace> trace = ReadProfilerTrace(Of(text));
  ASSERT_TRUE(trace.ok()) << trace.status();
  EXPECT_EQ(trace->facts.at("device.0.name").size(), 256U);
  EXPECT_EQ(trace->facts.at("device.1.total_bytes"), "2");
  EXPECT_FALSE(trace->facts.contains("device.1.name"));
  EXPECT_EQ(trace->facts.size(), 1024U + 1);
}

TEST(ProfilerTrace, ABareListOfEventsIsRead) {
  const absl::StatusOr<ProfilerTrace> trace = ReadProfilerTrace(
      Of(R"([{"name": "[memory]", "ts": 5, "args": {"Bytes": 8, "Addr": 1, "Device Type": 1}}])"));
  ASSERT_TRUE(trace.ok()) << trace.status();
  EXPECT_EQ(trace->samples.size(), 1U);
}

TEST(ProfilerTrace, ATraceWithoutMemorySaysHowToRecordIt) {
  EXPECT_THAT(Sentence(ReadProfilerTrace(Of(R"({"traceEvents": [{"name": "x"}]})"))),
              HasSubstr("profile_memory=True"));
  EXPECT_THAT(Sentence(ReadProfilerTrace(Of(R"({"a": [{"name": "[memory]"}]})"))),
              HasSubstr("not a profiler trace"));
  EXPECT_THAT(Sentence(ReadProfilerTrace(Of("{\"a\": }"))), HasSubstr("damaged or ends early"));
}

TEST(ProfilerTrace, ACutTraceGivesWhatWasReadable) {
  size_t partial = 0;
  for (size_t size = 1; size < kTrace.size() - 1; ++size) {
    const absl::StatusOr<ProfilerTrace> trace = ReadProfilerTrace(Of(kTrace.substr(0, size)));
    if (!trace.ok()) continue;
    ++partial;
    EXPECT_FALSE(trace->complete);
  }
  EXPECT_GT(partial, 500U);
}

TEST(ProfilerTrace, DeepNestingAndWildNumbersDoNoHarm) {
  const std::string deep(1'000'000, '[');
  EXPECT_FALSE(ReadProfilerTrace(Of("{\"traceEvents\":" + deep)).ok());
  const absl::StatusOr<ProfilerTrace> wild =
      ReadProfilerTrace(Of(R"([{"name": "[memory]", "ts": 1e300, "tid": -5, "args": {"Bytes":
      -9223372036854775808, "Addr": 1e30, "Device Type": 1, "Device Id": 99999999}},
      {"name": "[memory]", "ts": -9223372036854775808, "args": {"Bytes": 1.5e400}},
      {"name": "[memory]", "ts": -1.5, "args": {"Bytes": 1}}])"));
  if (wild.ok()) ProfilerEvents(*wild);
}

TEST(MemoryTimeline, RowsBecomeACurve) {
  const absl::StatusOr<MemoryTimeline> timeline = ReadMemoryTimeline(
      Of("[[-1, 1, 100, 0], [-1, 1, 50, 7], [5, 2, 30, 3], [5, 4, -30, 3], [9, 4, -50, 7]]"));
  ASSERT_TRUE(timeline.ok()) << timeline.status();
  EXPECT_TRUE(timeline->is_raw);
  EXPECT_EQ(timeline->start_bytes, 150);
  EXPECT_EQ(timeline->peak_bytes, 180);
  EXPECT_EQ(timeline->peak_time_ns, 5);
  EXPECT_EQ(timeline->end_bytes, 100);
  ASSERT_EQ(timeline->levels.size(), 3U);
  EXPECT_EQ(timeline->levels[1].total, 150);
  EXPECT_EQ(timeline->levels[2].by_category[0], 100);
  EXPECT_EQ(timeline->rows[2].action, TimelineAction::kCreate);
  EXPECT_STREQ(TimelineCategoryName(timeline->rows[2].category), "temporary");
}

TEST(MemoryTimeline, TheSummedFormIsReadToo) {
  const absl::StatusOr<MemoryTimeline> timeline = ReadMemoryTimeline(
      Of("[[1, 2, 5], [[0,1,0,0,0,0,0,0,2], [0,9,0,0,0,0,0,0,0], [0,4,0,0,0,0,0,0,0]]]"));
  ASSERT_TRUE(timeline.ok()) << timeline.status();
  EXPECT_FALSE(timeline->is_raw);
  EXPECT_EQ(timeline->start_bytes, 3);
  EXPECT_EQ(timeline->peak_bytes, 9);
  EXPECT_EQ(timeline->peak_time_ns, 2000);
  EXPECT_EQ(timeline->end_bytes, 4);
}

TEST(MemoryTimeline, OtherJsonIsNone) {
  for (const char* text : {"[]", "[1, 2]", "[[1, 2]]", "[[[[1]]]]", "[[\"a\"]]", "[{}]",
                           "[[1, 9, 3, 4]]", "[[1, 1, 3, 8]]", "[[1,1,1,1,1], [2]]"}) {
    EXPECT_THAT(Sentence(ReadMemoryTimeline(Of(text))), HasSubstr("no memory timeline")) << text;
  }
  EXPECT_THAT(Sentence(ReadMemoryTimeline(Of("[[1"))), HasSubstr("ends early"));
}

TEST(MemoryTimeline, ACutFileGivesWhatWasReadable) {
  const absl::StatusOr<MemoryTimeline> timeline =
      ReadMemoryTimeline(Of("[[-1, 1, 100, 0], [-1, 1, 50, 7], [5, 2"));
  ASSERT_TRUE(timeline.ok()) << timeline.status();
  EXPECT_FALSE(timeline->complete);
  EXPECT_EQ(timeline->start_bytes, 150);
}

TEST(MemoryTimeline, SumsDoNotOverflow) {
  const std::string huge = "[9, 2, 9223372036854775807, 0]";
  const absl::StatusOr<MemoryTimeline> timeline =
      ReadMemoryTimeline(Of("[" + huge + "," + huge + "]"));
  ASSERT_TRUE(timeline.ok()) << timeline.status();
  EXPECT_EQ(timeline->peak_bytes, INT64_MAX);
}

}  // namespace
}  // namespace vramstow
