#include "tools/exports/stow_writer.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <utility>

#include "base/typed_event.h"
#include "tests/tools/list_source.h"
#include "tools/inputs/trace_source.h"

namespace vramstow {
namespace {

// A list of events with what only some sources have.
class RichSource : public ListSource {
 public:
  explicit RichSource(std::vector<Event> events, std::map<std::string, std::string> facts = {})
      : ListSource(std::move(events), std::move(facts)) {}

  bool Next(Event* event) override {
    ++read;
    return ListSource::Next(event);
  }
  std::vector<CallFrame> Frames(uint32_t stack) const override {
    return {{.function = stack == 7 ? "seven" : "eight", .file = "job.py", .line = stack}};
  }
  const TraceSums* Sums() const override { return has_sums ? &sums : nullptr; }
  std::optional<uint64_t> Reserved() const override {
    return read % 2 == 0 ? std::nullopt : std::optional<uint64_t>(reserved);
  }
  std::vector<std::string> missing() const override { return sentences; }

  TraceSums sums;
  bool has_sums = false;
  uint64_t reserved = 0;
  uint64_t read = 0;
  std::vector<std::string> sentences;
};

// Writes the source to a file and opens that.
std::unique_ptr<TraceSource> Written(EventSource* source, const TraceStart& start = {},
                                     const std::string& name = "/written.stow") {
  const std::string path = testing::TempDir() + name;
  const int descriptor = open(path.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  EXPECT_TRUE(StowWriter(descriptor).Write(source, start));
  close(descriptor);
  auto opened = TraceSource::Open(path);
  EXPECT_TRUE(opened.ok()) << opened.status();
  return *std::move(opened);
}

History OneBlock() {
  History history;
  history.Allocate(0x10000, 4096);
  history.Free(0x10000);
  return history;
}

TEST(StowWriter, WritesSumsOfEventsThatTheSourceNoLongerHas) {
  RichSource source(OneBlock().events());
  source.has_sums = true;
  source.sums.totals.events = 1000;
  source.sums.totals.until_ns = 500;
  source.sums.totals.allocations = 600;
  source.sums.totals.frees = 400;
  source.sums.sums = {
      {.of = SumOf::kCall, .number = 9, .calls = 600, .allocations = 600, .bytes = 4096},
      {.of = SumOf::kLibrary, .number = 8, .calls = 600, .allocations = 600, .bytes = 4096},
      {.of = SumOf::kStack, .number = 7, .allocations = 5, .bytes = 512}};
  source.sums.points.resize(3000, {.allocated_highest = 1 << 20});  // more than one chunk
  for (uint32_t i = 0; i < 3000; ++i) {
    const uint32_t caller = 8 << 16 | 9;
    SumSamples samples = {
        .of = SumOf::kCaller, .number = caller, .shift = 12, .count = kMaxSamples};
    for (uint32_t at = 0; at < kMaxSamples; ++at) samples.levels[at] = at % 2 == 0 ? i << 8 : 0;
    source.sums.samples.push_back(samples);
  }
  // Stacks that become one in the file have the sum of their levels.
  for (const uint32_t level : {5u, 8u}) {
    SumSamples samples = {.of = SumOf::kStack, .number = 7, .shift = 12, .count = 1};
    samples.levels[0] = level;
    source.sums.samples.push_back(samples);
  }
  const auto trace = Written(&source);
  const Facts facts = Analyze(trace.get(), "written.stow");
  EXPECT_EQ(facts.counts.allocations, 601u);
  EXPECT_EQ(facts.counts.frees, 401u);
  EXPECT_EQ(facts.report.folded_events, 1000u);
  EXPECT_EQ(facts.report.folded_until_ns, 500u);
  EXPECT_EQ(facts.report.missing_events, 0u);
  EXPECT_EQ(facts.report.damaged_chunks, 0u);
  ASSERT_NE(trace->Sums(), nullptr);
  EXPECT_EQ(trace->Sums()->points.size(), 3000u);
  ASSERT_EQ(trace->Sums()->samples.size(), 3001u);
  EXPECT_EQ(trace->CallName(9), "call-9");
  EXPECT_EQ(trace->LibraryPath(8), "/lib/library-8.so");
  const uint32_t stack = trace->Sums()->sums[2].number;
  EXPECT_EQ(trace->Sums()->samples[3000].number, stack);
  EXPECT_EQ(trace->Sums()->samples[3000].levels[0], 13u);
  ASSERT_EQ(trace->reader().Stack(stack).size(), 1u);
  EXPECT_EQ(trace->reader().Stack(stack)[0].function, "seven");
}

TEST(StowWriter, SaysWhatTheSourceLacks) {
  RichSource source(OneBlock().events());
  source.mutable_report().closed = false;
  source.mutable_report().missing_events = 11;
  source.mutable_report().overwritten_events = 12;
  source.mutable_report().damaged_chunks = 1;
  source.mutable_report().damaged_bytes = 13;
  source.mutable_report().write_error = 28;
  source.sentences = {"The file is incomplete.", "The file is short."};
  const auto check = [](TraceSource* trace) {
    const Facts facts = Analyze(trace, "written.stow");
    EXPECT_EQ(facts.report.missing_events, 11u);
    EXPECT_EQ(facts.report.overwritten_events, 12u);
    EXPECT_EQ(facts.report.damaged_chunks, 1u);
    EXPECT_EQ(facts.report.damaged_bytes, 13u);
    EXPECT_EQ(facts.report.write_error, 28u);
    EXPECT_FALSE(facts.report.closed);
    EXPECT_THAT(facts.missing,
                testing::ElementsAre("The file is incomplete.", "The file is short."));
  };
  const auto once = Written(&source);
  check(once.get());
  const auto again = TraceSource::Open(testing::TempDir() + "/written.stow");
  const auto twice = Written(again->get(), {}, "/again.stow");
  check(twice.get());
}

TEST(StowWriter, WritesEventsThatWereNotRecordedOnce) {
  History history = OneBlock();
  history.Add(GapEvent{5}.ToEvent());
  RichSource source(history.events());
  source.mutable_report().dropped_events = 5;
  EXPECT_EQ(Analyze(Written(&source).get(), "written.stow").report.dropped_events, 5u);
}

TEST(StowWriter, WritesTheReservedBytesThatTheSourceKnows) {
  RichSource source(OneBlock().events());
  source.reserved = 1 << 20;
  const auto trace = Written(&source);
  Event event;
  ASSERT_TRUE(trace->Next(&event));
  EXPECT_EQ(trace->Reserved(), uint64_t{1} << 20);
  EXPECT_EQ(event.offset, 0u);
  ASSERT_TRUE(trace->Next(&event));
  EXPECT_EQ(trace->Reserved(), std::nullopt);
}

TEST(StowWriter, TheHeaderHasTheProcessAndTheTime) {
  const std::string path = testing::TempDir() + "/written.stow";
  RichSource source(OneBlock().events(),
                    {{"process.pid", "4711"}, {"process.start_time", "1700000000000000000"}});
  (void)Written(&source);
  auto start = StartOfTrace(path);
  ASSERT_TRUE(start.ok());
  EXPECT_EQ(start->process, 4711u);
  EXPECT_EQ(start->unix_ns, 1700000000000000000);
  // The start of the trace that is converted is more exact than the facts.
  RichSource other(OneBlock().events(), {{"process.pid", "4711"}});
  (void)Written(&other, {.process = 12, .unix_ns = 34, .clock_ns = 56});
  start = StartOfTrace(path);
  EXPECT_EQ(start->process, 12u);
  EXPECT_EQ(start->unix_ns, 34);
  EXPECT_EQ(start->clock_ns, 56u);
}

}  // namespace
}  // namespace vramstow
