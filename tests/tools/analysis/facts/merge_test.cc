#include "tools/analysis/facts/merge.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/tools/list_source.h"

namespace vramstow {
namespace {

using testing::SizeIs;

Facts RankFacts(const char* rank, uint64_t bytes, uint16_t library = 1) {
  History history;
  history.Allocate(0x1000, bytes, MemoryKind::kDevice, library);
  std::map<std::string, std::string> facts = {{"process.command", "train"}};
  if (*rank != '\0') facts["process.rank"] = rank;
  return history.Analyze(facts);
}

TEST(Merge, OneTraceIsItsOwnTotal) {
  const FactSet set = MergeTraces({RankFacts("0", 10)});
  EXPECT_EQ(set.total.file, "history.stow");
  EXPECT_EQ(set.total.peak.allocated_bytes, 10u);
  EXPECT_EQ(set.total.traces, 1u);
  EXPECT_THAT(set.total.timeline.points, Not(testing::IsEmpty()));
}

TEST(Merge, RanksAddUpAndAreInOrder) {
  const FactSet set = MergeTraces({RankFacts("", 1, 2), RankFacts("2", 10), RankFacts("0", 20)});
  ASSERT_THAT(set.traces, SizeIs(3));
  EXPECT_EQ(set.traces[0].rank, 0);
  EXPECT_EQ(set.traces[1].rank, 2);
  EXPECT_EQ(set.traces[2].rank, std::nullopt);
  const Facts& total = set.total;
  EXPECT_EQ(total.traces, 3u);
  EXPECT_EQ(total.peak.allocated_bytes, 31u);
  EXPECT_EQ(total.counts.allocations, 3u);
  EXPECT_EQ(total.report.events, 3u);
  EXPECT_EQ(total.live.device, (Amount{31, 3}));
  ASSERT_THAT(total.by_library, SizeIs(2));
  EXPECT_EQ(total.by_library[0].at_peak, (Amount{30, 2}));
  EXPECT_EQ(total.by_library[1].at_peak, (Amount{1, 1}));
  EXPECT_EQ(total.largest_block_bytes, 20u);
  EXPECT_EQ(total.trace_metadata.at("process.command"), "train");
  EXPECT_FALSE(total.trace_metadata.contains("process.rank")) << "it is not the same for all";
  EXPECT_TRUE(total.timeline.points.empty());
}

TEST(Merge, AttemptsOfARankAreCountedButTheirMemoryIsNotAdded) {
  std::vector<Facts> traces = {RankFacts("0", 10), RankFacts("0", 12), RankFacts("1", 20)};
  traces[0].trace_metadata["run.restart"] = "0";
  traces[1].trace_metadata["run.restart"] = "1";
  const Facts total = MergeTraces(traces).total;
  EXPECT_EQ(total.attempts, 2u);
  EXPECT_EQ(total.peak.allocated_bytes, 32u);
  EXPECT_EQ(total.live.device, (Amount{32, 2}));
  ASSERT_THAT(total.by_library, SizeIs(1));
  EXPECT_EQ(total.by_library[0].at_peak, (Amount{32, 2}));
  EXPECT_EQ(total.by_library[0].highest_bytes, 32u);
  EXPECT_EQ(total.by_library[0].allocations, 3u) << "the first attempt made one, too";
  EXPECT_EQ(total.counts.allocations, 3u);
}

// Returns the facts of a program that was not closed, of process 7, which began `start` seconds
// after the process.
Facts ProgramFacts(uint64_t bytes, uint64_t start) {
  Facts facts = RankFacts("", bytes);
  facts.trace_metadata["process.pid"] = "7";
  facts.trace_metadata["process.host"] = "here";
  facts.trace_metadata["process.start_time"] = "1000000000";
  facts.start_unix_ns = 1000000000 + start * 1000000000;
  facts.report.closed = false;
  return facts;
}

TEST(Merge, ProgramsThatOneProcessRanOneAfterTheOtherCountOnce) {
  std::vector<Facts> traces = {ProgramFacts(30, 1), ProgramFacts(20, 2)};
  const FactSet set = MergeTraces(traces);
  EXPECT_EQ(set.total.peak.allocated_bytes, 30u);
  EXPECT_EQ(set.total.processes, 1u);
  EXPECT_EQ(set.total.attempts, 1u);
  traces[1].peak.reserved_bytes = 40;
  EXPECT_EQ(MergeTraces(traces).total.peak.reserved_bytes, 40u);
  EXPECT_EQ(MergeTraces(traces).total.peak.allocated_bytes, 30u)
      << "each level has its own program";
  EXPECT_TRUE(set.traces[0].report.closed) << "its program was replaced";
  EXPECT_EQ(set.traces[0].trace_metadata.at("process.replaced"), "train");
  EXPECT_FALSE(set.traces[1].report.closed);
  traces[1].trace_metadata["process.start_time"] = "2000000000";  // the PID was used again
  EXPECT_EQ(MergeTraces(traces).total.peak.allocated_bytes, 50u);
  EXPECT_FALSE(MergeTraces(traces).traces[0].report.closed);
}

TEST(Merge, ARankThatReplacedItsProgramMadeOneAttempt) {
  std::vector<Facts> traces = {ProgramFacts(30, 1), ProgramFacts(20, 100), RankFacts("1", 5)};
  for (int i = 0; i < 2; ++i) traces[static_cast<size_t>(i)].rank = 0;
  const Facts total = MergeTraces(traces).total;
  EXPECT_EQ(total.attempts, 1u);
  EXPECT_EQ(total.peak.allocated_bytes, 35u);
  EXPECT_EQ(total.processes, 2u);
}

TEST(Merge, AnIdleProcessLeavesTheAnalysisToTheOneThatHeldMemory) {
  History idle;
  idle.Add({.kind = EventKind::kContextCreate});
  const FactSet set = MergeTraces({idle.Analyze({}), RankFacts("", 20)});
  ASSERT_THAT(set.traces, SizeIs(2));
  EXPECT_EQ(set.total.traces, 1u);
  EXPECT_EQ(set.total.peak.allocated_bytes, 20u);
  EXPECT_THAT(set.total.timeline.points, Not(testing::IsEmpty()));
  EXPECT_EQ(set.total.trace_metadata.at("process.command"), "train");
}

// A launcher that called exec to become the script has the same process id as the script, and no
// events of its own.
TEST(Merge, AProcessThatBecameAnotherProgramIsThereOnce) {
  const auto facts_of = [](const std::string& pid) -> std::map<std::string, std::string> {
    return {{"process.pid", pid}, {"process.host", "node"}, {"process.rank", "0"}};
  };
  History script;
  script.Allocate(0x1000, 20, MemoryKind::kDevice, 1);
  const Facts launcher = History().Analyze(facts_of("7"));
  const Facts other = History().Analyze(facts_of("8"));
  const FactSet set = MergeTraces({launcher, script.Analyze(facts_of("7")), other});
  ASSERT_THAT(set.traces, SizeIs(2));
  EXPECT_EQ(set.traces[0].counts.allocations, 1u);
  EXPECT_EQ(set.traces[1].trace_metadata.at("process.pid"), "8");
  EXPECT_THAT(MergeTraces({launcher}).traces, SizeIs(1));
}

TEST(Merge, SizesAreMergedInOrder) {
  const FactSet set = MergeTraces({RankFacts("0", 1000), RankFacts("1", 3), RankFacts("2", 900)});
  ASSERT_THAT(set.total.histogram, SizeIs(2));
  EXPECT_EQ(set.total.histogram[0].allocations, 1u);
  EXPECT_EQ(set.total.histogram[1].from_bytes, 512u);
  EXPECT_EQ(set.total.histogram[1].at_peak, (Amount{1900, 2}));
}

TEST(Merge, WhoseMemoryTheOffloaderMovedIsOfOneTraceOnly) {
  Facts moved = RankFacts("0", 5);
  moved.offload.out_bytes = 3;
  moved.offload.sites = {{.number = 1, .site = "train.py:1 step", .operation = "", .bytes = 3}};
  const FactSet set = MergeTraces({moved, RankFacts("1", 5)});
  EXPECT_EQ(set.total.offload.out_bytes, 3u);
  EXPECT_THAT(set.total.offload.sites, SizeIs(0)) << "else they would be those of all";
  EXPECT_THAT(set.traces[0].offload.sites, SizeIs(1));
}

TEST(Merge, LongestWaitIsThatOfOneAndFlagsAreOfAllOrAny) {
  Facts first = RankFacts("0", 5);
  first.offload.longest_gate_ns = 7;
  first.launches.launches = 1;
  Facts second = RankFacts("1", 5);
  second.offload.longest_gate_ns = 5;
  second.launches.sampled = true;
  second.reserved_known = false;
  second.kind = "rmm_log";
  const Facts total = MergeTraces({first, second}).total;
  EXPECT_EQ(total.offload.longest_gate_ns, 7u);
  EXPECT_TRUE(total.launches.sampled);
  EXPECT_FALSE(total.reserved_known);
  EXPECT_EQ(total.kind, "several");
}

TEST(Merge, OneTraceThatWasNotClosedLeavesTheTotalNotClosed) {
  Facts open = RankFacts("1", 5);
  open.report.closed = false;
  EXPECT_FALSE(MergeTraces({RankFacts("0", 1), open}).total.report.closed);
}

}  // namespace
}  // namespace vramstow
