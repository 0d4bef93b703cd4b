#include "tools/analysis/facts/compare_ranks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "tools/analysis/facts/merge.h"

namespace vramstow {
namespace {

using testing::SizeIs;

Facts Rank(int64_t rank, uint64_t reserved, std::vector<SiteFacts> sites = {}) {
  Facts facts;
  facts.rank = rank;
  facts.trace_metadata["process.host"] = "node" + std::to_string(rank / 8);
  facts.peak.reserved_bytes = reserved;
  facts.peak.allocated_bytes = reserved / 2;
  facts.counts.allocations = 7;
  facts.by_site = std::move(sites);
  return facts;
}

SiteFacts Site(const char* name, uint64_t bytes) {
  SiteFacts site;
  site.site = name;
  site.operation = "aten::mm";
  site.at_peak = {bytes, 1};
  return site;
}

const RankFigure& Figure(const RankComparison& comparison, const std::string& name) {
  const auto found = std::ranges::find(comparison.figures, name, &RankFigure::name);
  EXPECT_NE(found, comparison.figures.end()) << name;
  return *found;
}

TEST(CompareRanks, TheStragglerIsTheOneThatReservedMost) {
  std::vector<Facts> traces;
  for (int64_t rank = 0; rank < 64; ++rank) traces.push_back(Rank(rank, 1000 + rank % 3));
  traces[37].peak.reserved_bytes = 1600;
  const auto comparison = CompareRanks(traces);
  ASSERT_TRUE(comparison.has_value());
  EXPECT_EQ(comparison->ranks, 64u);
  EXPECT_EQ(comparison->straggler, 37);
  EXPECT_EQ(comparison->host, "node4");
  EXPECT_EQ(comparison->over_median_bytes, 599u);
  EXPECT_FALSE(comparison->balanced);
  const RankFigure& reserved = Figure(*comparison, "peak_reserved_bytes");
  EXPECT_EQ(reserved.median, 1001u);
  EXPECT_EQ(reserved.least, 1000u);
  EXPECT_EQ(reserved.least_rank, 0);
  EXPECT_EQ(reserved.most, 1600u);
  EXPECT_EQ(Figure(*comparison, "allocations").median, 7u);
}

TEST(CompareRanks, WhatItHeldMoreOfThanTheMedianRankIsNamedLargestFirst) {
  std::vector<Facts> traces;
  for (int64_t rank = 0; rank < 5; ++rank) {
    traces.push_back(Rank(rank, 100, {Site("same", 40), Site("cache", 10 + rank)}));
  }
  traces[2] = Rank(2, 200, {Site("same", 40), Site("cache", 32), Site("only here", 90)});
  const auto comparison = CompareRanks(traces);
  ASSERT_TRUE(comparison.has_value());
  ASSERT_THAT(comparison->sites, SizeIs(2));
  EXPECT_EQ(comparison->sites[0].site, "only here");
  EXPECT_EQ(comparison->sites[0].median_bytes_at_peak, 0u);
  EXPECT_EQ(comparison->sites[1].site, "cache");
  EXPECT_EQ(comparison->sites[1].bytes_at_peak, 32u);
  EXPECT_EQ(comparison->sites[1].median_bytes_at_peak, 13u);
  EXPECT_EQ(comparison->sites[1].operation, "aten::mm");
}

TEST(CompareRanks, AlikeMeansWithinATwentiethOfTheMedian) {
  for (const auto& [most, balanced] : {std::pair<uint64_t, bool>{1050, true}, {1051, false}}) {
    const auto comparison = CompareRanks({Rank(0, 1000), Rank(1, most), Rank(2, 1000)});
    ASSERT_TRUE(comparison.has_value());
    EXPECT_EQ(comparison->balanced, balanced) << most;
  }
}

TEST(CompareRanks, OfTwoRanksTheMedianLiesBetweenThem) {
  const auto comparison = CompareRanks({Rank(3, 100), Rank(9, 301)});
  ASSERT_TRUE(comparison.has_value());
  EXPECT_EQ(comparison->figures.front().median, 200u);
  EXPECT_EQ(comparison->straggler, 9);
}

TEST(CompareRanks, ProcessesOfOneRankAreAdded) {
  const auto comparison = CompareRanks(
      {Rank(0, 100, {Site("a", 5)}), Rank(0, 50, {Site("a", 6)}), Rank(1, 120, {Site("a", 7)})});
  ASSERT_TRUE(comparison.has_value());
  EXPECT_EQ(comparison->ranks, 2u);
  EXPECT_EQ(comparison->straggler, 0);
  EXPECT_EQ(comparison->figures.front().most, 150u);
  ASSERT_THAT(comparison->sites, SizeIs(1));
  EXPECT_EQ(comparison->sites[0].bytes_at_peak, 11u);
}

// Returns an attempt of a rank that began and ended at these times, in seconds.
Facts Attempt(int64_t rank, uint64_t reserved, uint64_t begin, uint64_t end) {
  Facts facts = Rank(rank, reserved, {Site("a", reserved)});
  constexpr uint64_t kSecondNs = 1'000'000'000;
  facts.start_unix_ns = begin * kSecondNs;
  facts.end_ns = (end - begin) * kSecondNs;
  facts.report.closed = true;
  return facts;
}

TEST(CompareRanks, AttemptsThatRanOneAfterTheOtherAreNotAdded) {
  const auto comparison =
      CompareRanks({Attempt(0, 100, 10, 20), Attempt(0, 90, 30, 40), Attempt(0, 95, 50, 60),
                    Attempt(1, 100, 10, 20), Attempt(1, 7, 15, 18)});
  ASSERT_TRUE(comparison.has_value());
  EXPECT_EQ(comparison->ranks, 2u);
  EXPECT_EQ(comparison->attempts, 3u);
  const RankFigure& reserved = comparison->figures.front();
  EXPECT_EQ(reserved.least, 100u);
  EXPECT_EQ(reserved.most, 107u) << "its processes ran at the same time";
  EXPECT_EQ(Figure(*comparison, "allocations").least, 14u);
}

TEST(CompareRanks, ProcessesOfOtherProgramsOrWithAnEndThatIsNotKnownExactlyAreAdded) {
  Facts client = Attempt(0, 50, 30, 40);
  client.trace_metadata["process.command"] = "client.py";
  for (const Facts& second : {client, Attempt(0, 50, 21, 40)}) {
    const auto comparison = CompareRanks({Attempt(0, 100, 10, 20), second, Rank(1, 100)});
    ASSERT_TRUE(comparison.has_value());
    EXPECT_EQ(comparison->attempts, 1u);
    EXPECT_EQ(comparison->figures.front().most, 150u);
  }
}

TEST(CompareRanks, RestartsThatTheLauncherCountsAreAttempts) {
  for (const char* name : {"run.restart", "run.requeue"}) {
    Facts first = Rank(0, 100);
    first.trace_metadata[name] = "0";
    Facts second = Rank(0, 120);
    second.trace_metadata[name] = "1";
    const auto comparison = CompareRanks({first, second, Rank(1, 100)});
    ASSERT_TRUE(comparison.has_value());
    EXPECT_EQ(comparison->attempts, 2u);
    EXPECT_EQ(comparison->figures.front().most, 120u);
  }
}

TEST(CompareRanks, AProcessThatMayHaveLivedOnIsAddedToALaterOne) {
  const Facts later = Attempt(0, 50, 30, 40);
  Facts cut = Attempt(0, 100, 10, 20);
  cut.report.write_error = 28;
  Facts parent = Attempt(0, 100, 10, 20);
  parent.trace_metadata["process.pid"] = "7";
  Facts child = later;
  child.trace_metadata["process.parent"] = "7";
  for (const auto& [first, second] : {std::pair{cut, later}, std::pair{parent, child}}) {
    const auto comparison = CompareRanks({first, second, Rank(1, 100)});
    ASSERT_TRUE(comparison.has_value());
    EXPECT_EQ(comparison->attempts, 1u);
    EXPECT_EQ(comparison->figures.front().most, 150u);
  }
}

TEST(CompareRanks, NoStragglerIsNamedFromARecordingThatLacksEvents) {
  Facts full_disk = Rank(1, 1);
  full_disk.report.write_error = 28;
  Facts damaged = Rank(1, 1);
  damaged.report.damaged_bytes = 4096;
  Facts dropped = Rank(1, 900);
  dropped.report.dropped_events = 3;
  for (const Facts& cut : {full_disk, damaged, dropped}) {
    const auto comparison = CompareRanks({Rank(0, 600), cut});
    ASSERT_TRUE(comparison.has_value());
    EXPECT_FALSE(comparison->has_straggler);
    EXPECT_EQ(comparison->incomplete, (std::vector<int64_t>{1}));
    EXPECT_THAT(comparison->sites, SizeIs(0));
  }
}

TEST(CompareRanks, RanksThatAreWholeAreComparedWithoutTheOthers) {
  Facts cut = Rank(2, 1);
  cut.report.write_error = 28;
  const auto comparison = CompareRanks({Rank(0, 600), Rank(1, 600), cut, Rank(3, 900)});
  ASSERT_TRUE(comparison.has_value());
  EXPECT_EQ(comparison->ranks, 4u);
  EXPECT_EQ(comparison->incomplete, (std::vector<int64_t>{2}));
  EXPECT_TRUE(comparison->has_straggler);
  EXPECT_EQ(comparison->straggler, 3);
  EXPECT_EQ(comparison->figures.front().median, 600u);
  EXPECT_EQ(comparison->figures.front().least, 600u);
}

TEST(CompareRanks, ARecordingThatKeptItsNewestPartIsCompared) {
  Facts newest = Rank(1, 900);
  newest.report.overwritten_events = 3;
  const auto comparison = CompareRanks({Rank(0, 600), newest});
  ASSERT_TRUE(comparison.has_value());
  EXPECT_TRUE(comparison->has_straggler);
}

TEST(CompareRanks, WhereReservedIsNotKnownAllocatedStandsIn) {
  Facts unknown = Rank(1, 0);
  unknown.reserved_known = false;
  unknown.peak.allocated_bytes = 400;
  const auto comparison = CompareRanks({Rank(0, 300), unknown});
  ASSERT_TRUE(comparison.has_value());
  EXPECT_EQ(comparison->straggler, 1);
}

TEST(CompareRanks, WithoutTwoRanksThereIsNothingToCompare) {
  Facts other = Rank(0, 10);
  other.rank.reset();
  EXPECT_FALSE(CompareRanks({Rank(0, 10)}).has_value());
  EXPECT_FALSE(CompareRanks({Rank(0, 10), other}).has_value());
  EXPECT_FALSE(CompareRanks({Rank(4, 10), Rank(4, 20)}).has_value());
  EXPECT_FALSE(MergeTraces({Rank(0, 10)}).comparison.has_value());
  EXPECT_TRUE(MergeTraces({Rank(0, 10), Rank(1, 10)}).comparison.has_value());
}

}  // namespace
}  // namespace vramstow
