// Tests the search of vramstow plan: which choices are run in the simulator, for which choices the
// need is computed from these runs, and what is reported about the rest.
#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "base/units.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tools/plan/cards.h"
#include "tools/plan/choices.h"
#include "tools/plan/search.h"

namespace vramstow {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

TEST(Choices, ARangeGoesOnAsTheValuesBeforeIt) {
  EXPECT_THAT(*ValuesOf("1,2,4,8..64"), ElementsAre("1", "2", "4", "8", "16", "32", "64"));
  EXPECT_THAT(*ValuesOf("1..8"), ElementsAre("1", "2", "4", "8"));
  EXPECT_THAT(*ValuesOf("8,16,24..40"), ElementsAre("8", "16", "24", "32", "40"));
  EXPECT_THAT(*ValuesOf("1,3,9..30"), ElementsAre("1", "3", "9", "27"));
  EXPECT_THAT(*ValuesOf("none,full"), ElementsAre("none", "full"));
  EXPECT_THAT(*ValuesOf("2,2,4"), ElementsAre("2", "4"));
}

TEST(Choices, AWrongRangeIsRefused) {
  for (const char* text : {"", "1,,2", "8..4", "a..b", "0..4", "1..2..3", "1,2,3..100000"}) {
    EXPECT_FALSE(ValuesOf(text).ok()) << text;
  }
}

TEST(Choices, PlacesAreNamesInBraces) {
  EXPECT_THAT(PlaceholdersOf({"python", "a{batch}b", "--x={steps_2}", "{batch}"}),
              ElementsAre("batch", "steps_2"));
  EXPECT_THAT(PlaceholdersOf({"{}", "{\"a\": 1}", "{A}", "{a b}", "{open"}), IsEmpty());
  EXPECT_THAT(Filled({"-b{batch}", "{batch}{x}"}, {{"batch", "4"}, {"x", "y"}}),
              ElementsAre("-b4", "4y"));
}

TEST(Choices, PeaksAreFittedAlongTheBatchOrElseTheFirstNumbers) {
  EXPECT_EQ(AxisOf({{"width", {"1", "2"}}, {"batch", {"1", "2"}}}), 1U);
  EXPECT_EQ(AxisOf({{"mode", {"a", "b"}}, {"width", {"1", "2"}}}), 1U);
  EXPECT_EQ(AxisOf({{"mode", {"a", "b"}}, {"batch", {"1"}}}), std::nullopt);
}

TEST(PlanCards, ANumberBehindTheNameIsACount) {
  const std::vector<std::string> keys = {"h100", "rtx4090"};
  EXPECT_EQ(ReadPlanCard("h100x8", keys)->spec, "h100,count=8");
  EXPECT_EQ(ReadPlanCard("rtx4090", keys)->spec, "rtx4090");
  EXPECT_EQ(ReadPlanCard("rtx4090x2,memory=16GiB", keys)->spec, "rtx4090,count=2,memory=16GiB");
  EXPECT_EQ(ReadPlanCard("h100,count=4", keys)->count, 4U);
  EXPECT_THAT(ReadPlanCard("h300x8", keys).status().message(), HasSubstr("no card 'h300x8'"));
  EXPECT_FALSE(ReadPlanCard("h100x0", keys).ok());
  EXPECT_THAT(SplitCards("h100,memory=4GiB,a100x2"), ElementsAre("h100,memory=4GiB", "a100x2"));
}

TEST(PlanCards, AWorldCountsTheCardsOfAJobWhoseOthersAreAbsent) {
  const std::vector<std::string> keys = {"h100"};
  for (const char* text :
       {"h100,world=64,rank=0", "h100x8,world=64,rank=0", "h100,world=64,count=8,rank=0"}) {
    const auto card = ReadPlanCard(text, keys);
    ASSERT_TRUE(card.ok()) << text;
    EXPECT_TRUE(card->has_absent);
    EXPECT_EQ(card->count, 64U) << text;
  }
  EXPECT_EQ(ReadPlanCard("h100x8,world=64,rank=0", keys)->spec, "h100,count=8,world=64,rank=0");
  EXPECT_FALSE(ReadPlanCard("h100x8", keys)->has_absent);
}

TEST(PlanCards, ADegreeHasToDivideTheRanks) {
  const std::vector<std::string> keys = {"h100"};
  const PlanCard eight = *ReadPlanCard("h100x8", keys);
  const PlanCard six = *ReadPlanCard("h100,world=6,rank=0", keys);
  const PlanCard one = *ReadPlanCard("h100", keys);
  EXPECT_EQ(WhyNotAmongRanks({{"batch", "3"}, {"shard", "3"}}, eight),
            "{shard} = 3 does not divide the 8 ranks of h100x8.");
  EXPECT_NE(WhyNotAmongRanks({{"dp", "16"}}, eight), "");
  EXPECT_NE(WhyNotAmongRanks({{"tp", "0"}}, eight), "");
  EXPECT_EQ(WhyNotAmongRanks({{"shard", "4"}}, eight), "");
  EXPECT_EQ(WhyNotAmongRanks({{"shard", "full"}, {"batch", "3"}}, eight), "");
  EXPECT_EQ(WhyNotAmongRanks({{"shard", "3"}}, one), "");
  // CheckDegrees accepts a value if at least one of the GPUs can use it; the search decides the
  // rest.
  EXPECT_TRUE(CheckDegrees({{"shard", {"3", "4"}}}, {eight, six, one}).ok());
  EXPECT_TRUE(CheckDegrees({{"shard", {"2", "3"}}}, {eight, six}).ok());
  EXPECT_EQ(CheckDegrees({{"shard", {"8", "5"}}}, {eight, six}).message(),
            "{shard} = 5 does not divide the 6 ranks of h100,world=6,rank=0.");
}

TEST(PlanSearch, MoreShardsAreTriedWhereFewerDoNotFit) {
  EXPECT_EQ(AxisOf({{"shard", {"2", "4"}}}), std::nullopt);
  EXPECT_EQ(AxisOf({{"shard", {"2", "4"}}, {"width", {"2", "4"}}}), 1U);
  const PlanSpace space = {.cards = {"h100x8"}, .placeholders = {{"shard", {"2", "3", "4"}}}};
  const auto result = SearchPlan(space, [](const std::string& card, const Choice& choice) {
    PlanTrial trial;
    trial.total_bytes = 80;
    trial.problem = WhyNotAmongRanks(choice, {.text = card, .key = "h100", .spec = "", .count = 8});
    trial.ran = trial.problem.empty();
    if (!trial.ran) return absl::StatusOr<PlanTrial>(trial);
    trial.peak_bytes = static_cast<uint64_t>(240 / *NumberOf(choice[0].value));
    trial.fits = *trial.peak_bytes <= trial.total_bytes;
    return absl::StatusOr<PlanTrial>(trial);
  });
  ASSERT_TRUE(result.ok());
  EXPECT_EQ(result->rehearsals, 2U) << "3 divides no 8, so that it does not run";
  EXPECT_EQ(result->rows[0].choice[0].value, "4");
  EXPECT_TRUE(result->rows[0].fits);
  for (const PlanRow& row : result->rows) {
    if (row.choice[0].value != "3") continue;
    EXPECT_EQ(row.source, PlanRow::Source::kUnknown);
    EXPECT_EQ(row.why_not, "{shard} = 3 does not divide the 8 ranks of h100x8.");
  }
}

TEST(PlanSearch, ARunThatMovesMemoryFitsWithoutAMargin) {
  const PlanSpace space = {.cards = {"h100"}, .placeholders = {}, .margin = 0.05};
  for (const bool moves : {false, true}) {
    const auto result = SearchPlan(space, [&](const std::string&, const Choice&) {
      PlanTrial trial;
      trial.fits = true;
      trial.moves = moves;
      trial.peak_bytes = trial.total_bytes = 80 * kGiB;
      return absl::StatusOr<PlanTrial>(trial);
    });
    ASSERT_TRUE(result.ok());
    ASSERT_EQ(result->rows.size(), 1U);
    EXPECT_EQ(result->rows[0].fits, moves);
    EXPECT_EQ(result->rows[0].tight, !moves);
  }
}

// A job that needs 10 GiB and 1 GiB per unit of the batch; with {checkpoint} = full it needs half
// of the latter, and a third more time.
class Job {
 public:
  PlanTrial operator()(const std::string& card, const Choice& choice) {
    PlanTrial trial;
    trial.total_bytes = (card == "small" ? 20 : 80) * kGiB;
    double batch = 1;
    double bytes = 1;
    double time = 1;
    for (const Setting& setting : choice) {
      if (setting.name == "batch") batch = *NumberOf(setting.value);
      if (setting.value == "full") bytes = 0.5;
      if (setting.value == "full") time = 4.0 / 3;
    }
    tried.emplace_back(card, TextOf(choice));
    if (batch == failing_batch) {
      trial = {};
      trial.problem = "It fails: 13 is unlucky.";
      return trial;
    }
    const double peak = 10 + batch * bytes + bend * batch * batch;
    trial.peak_bytes = static_cast<uint64_t>(peak * static_cast<double>(kGiB));
    trial.fits = *trial.peak_bytes <= trial.total_bytes;
    trial.step = PlanStep{
        .seconds = (1 + batch) * time, .tokens = static_cast<uint64_t>(1000 * batch), .parts = {}};
    return trial;
  }

  std::vector<std::pair<std::string, std::string>> tried;
  double failing_batch = 0;
  double bend = 0;
};

PlanResult Search(const PlanSpace& space, Job* job) {
  const auto result = SearchPlan(
      space, [&](const std::string& card, const Choice& choice) { return (*job)(card, choice); });
  EXPECT_TRUE(result.ok()) << result.status();
  return result.ok() ? *result : PlanResult();
}

const PlanRow& RowOf(const PlanResult& result, const std::string& card, const std::string& choice) {
  const auto row = std::ranges::find_if(result.rows, [&](const PlanRow& each) {
    return each.card == card && TextOf(each.choice) == choice;
  });
  EXPECT_NE(row, result.rows.end()) << choice;
  return *row;
}

PlanSpace Batches(const std::string& values) {
  return {.cards = {"large"}, .placeholders = {{"batch", *ValuesOf(values)}}, .margin = 0.05};
}

TEST(SearchPlan, TwoPointsTheWinnerAndTheNextValueAreRehearsed) {
  Job job;
  const PlanResult result = Search(Batches("1,2,4..512"), &job);
  EXPECT_EQ(result.rehearsals, 4U);
  EXPECT_THAT(result.rows, SizeIs(10));
  const PlanRow& best = result.rows.front();
  EXPECT_EQ(TextOf(best.choice), "{batch} = 64");
  EXPECT_EQ(best.source, PlanRow::Source::kRehearsed);
  const PlanRow& between = RowOf(result, "large", "{batch} = 16");
  EXPECT_EQ(between.source, PlanRow::Source::kFitted);
  EXPECT_EQ(between.peak_bytes, 26 * kGiB);
  EXPECT_DOUBLE_EQ(between.step->seconds, 17);
  EXPECT_EQ(between.step->tokens, 16000U);
  const PlanRow& beyond = RowOf(result, "large", "{batch} = 128");
  EXPECT_FALSE(beyond.fits);
  EXPECT_EQ(beyond.source, PlanRow::Source::kRehearsed);
  EXPECT_THAT(beyond.why_not, HasSubstr("takes 138 GiB"));
  EXPECT_THAT(RowOf(result, "large", "{batch} = 256").why_not, HasSubstr("about 266 GiB"));
}

TEST(SearchPlan, TheMarginStaysFree) {
  Job job;
  const PlanResult result = Search(Batches("1,2,60,68"), &job);
  EXPECT_EQ(TextOf(result.rows.front().choice), "{batch} = 60");
  const PlanRow& tight = RowOf(result, "large", "{batch} = 68");
  EXPECT_FALSE(tight.fits);
  EXPECT_TRUE(tight.tight) << "78 GiB of 80 run, and leave 2";
  EXPECT_THAT(tight.why_not, HasSubstr("less than the margin"));
  EXPECT_EQ(TextOf(result.rows[3].choice), "{batch} = 68") << "behind those that fit";
  EXPECT_FALSE(result.rows.front().tight);
}

TEST(SearchPlan, WhatDoesNotRunIsNotTightWhereverItsPeakIs) {
  const auto result = SearchPlan(Batches("4"), [](const std::string& /*card*/, const Choice&) {
    PlanTrial trial;
    trial.total_bytes = 80 * kGiB;
    trial.peak_bytes = 78 * kGiB;
    return absl::StatusOr<PlanTrial>(trial);
  });
  ASSERT_TRUE(result.ok());
  EXPECT_FALSE(result->rows.front().fits);
  EXPECT_FALSE(result->rows.front().tight);
  EXPECT_THAT(result->rows.front().why_not, HasSubstr("the rest is fragmented"));
}

TEST(SearchPlan, ALineThatPromisesTooMuchIsCorrected) {
  Job job;
  job.bend = 0.02;  // at 64 it takes 156 GiB, where the line through 1 and 2 says 78
  const PlanResult result = Search(Batches("1,2,4..512"), &job);
  EXPECT_EQ(TextOf(result.rows.front().choice), "{batch} = 32");
  EXPECT_EQ(result.rows.front().source, PlanRow::Source::kRehearsed);
  EXPECT_FALSE(RowOf(result, "large", "{batch} = 64").fits);
}

// Searches the values of a placeholder whose peaks, in GiB, are given.
PlanResult SearchPeaks(const std::string& name, const std::map<std::string, double>& peaks,
                       uint64_t went_on_from = 0) {
  Placeholder placeholder{.name = name, .values = {}};
  for (const auto& [value, peak] : peaks) placeholder.values.push_back(value);
  const PlanSpace space = {.cards = {"large"}, .placeholders = {placeholder}, .margin = 0.05};
  const auto result = SearchPlan(space, [&](const std::string& /*card*/, const Choice& choice) {
    PlanTrial trial;
    trial.total_bytes = 80 * kGiB;
    trial.peak_bytes = static_cast<uint64_t>(peaks.at(choice[0].value) * static_cast<double>(kGiB));
    trial.fits = *trial.peak_bytes <= trial.total_bytes;
    if (went_on_from > 0 && *NumberOf(choice[0].value) >= static_cast<double>(went_on_from)) {
      trial.fits = true;
      trial.went_on = 3;
    }
    return absl::StatusOr<PlanTrial>(trial);
  });
  EXPECT_TRUE(result.ok()) << result.status();
  return result.ok() ? *result : PlanResult();
}

TEST(SearchPlan, ALineThatPromisesTooLittleIsCorrected) {
  // The line through 1 and 2 says 90 GiB at 4.
  const PlanResult result = SearchPeaks("batch", {{"1", 30}, {"2", 50}, {"4", 60}, {"8", 90}});
  EXPECT_EQ(TextOf(result.rows.front().choice), "{batch} = 4");
  EXPECT_TRUE(RowOf(result, "large", "{batch} = 4").fits);
  const PlanRow& next = RowOf(result, "large", "{batch} = 8");
  EXPECT_FALSE(next.fits);
  EXPECT_EQ(next.source, PlanRow::Source::kRehearsed);
}

TEST(SearchPlan, PeaksThatFallAlongTheAxisAreSearchedFromTheOtherEnd) {
  const PlanResult result =
      SearchPeaks("accumulate", {{"1", 170}, {"2", 90}, {"4", 50}, {"8", 30}});
  EXPECT_EQ(TextOf(result.rows.front().choice), "{accumulate} = 8");
  EXPECT_TRUE(RowOf(result, "large", "{accumulate} = 4").fits);
  EXPECT_FALSE(RowOf(result, "large", "{accumulate} = 2").fits);
  EXPECT_FALSE(RowOf(result, "large", "{accumulate} = 1").fits);
  const PlanResult none = SearchPeaks("accumulate", {{"1", 100}, {"2", 110}, {"4", 120}});
  EXPECT_EQ(none.rehearsals, 2U);
  EXPECT_FALSE(none.rows.front().fits);
}

TEST(SearchPlan, WhatRanOutOfMemoryAndContinuedIsNeverRecommended) {
  const PlanResult result =
      SearchPeaks("batch", {{"1", 30}, {"2", 40}, {"4", 60}, {"8", 60}}, /*went_on_from=*/4);
  EXPECT_EQ(TextOf(result.rows.front().choice), "{batch} = 2");
  const PlanRow& row = RowOf(result, "large", "{batch} = 4");
  EXPECT_FALSE(row.fits);
  EXPECT_FALSE(row.tight);
  EXPECT_EQ(row.why_not, "It ran out of memory 3 times, and continued.");
  EXPECT_FALSE(RowOf(result, "large", "{batch} = 8").fits);
}

TEST(SearchPlan, ValuesBeforeARunWithoutAPeakAreHalved) {
  std::map<std::string, double> peaks;
  for (int value = 1; value <= 24; ++value) peaks[std::to_string(value)] = value / 4.0;
  const PlanResult result = SearchPeaks("batch", peaks, /*went_on_from=*/8);
  EXPECT_EQ(TextOf(result.rows.front().choice), "{batch} = 7");
  EXPECT_LE(result.rehearsals, 9U);
  for (const PlanRow& row : result.rows) {
    EXPECT_EQ(row.fits, *NumberOf(row.choice[0].value) < 8) << TextOf(row.choice);
  }
}

TEST(SearchPlan, EachCardAndEachOtherSettingIsAGroup) {
  Job job;
  PlanSpace space = Batches("1,2,4..64");
  space.cards = {"large", "small"};
  space.placeholders.push_back({"checkpoint", {"none", "full"}});
  const PlanResult result = Search(space, &job);
  EXPECT_THAT(result.rows, SizeIs(28));
  // A batch of 64 without checkpoints is faster than 64 with them; on the small GPU a batch of 8
  // fits, or 16 with checkpoints.
  EXPECT_EQ(TextOf(result.rows.front().choice), "{batch} = 64, {checkpoint} = none");
  EXPECT_TRUE(RowOf(result, "small", "{batch} = 8, {checkpoint} = none").fits);
  EXPECT_FALSE(RowOf(result, "small", "{batch} = 16, {checkpoint} = none").fits);
  EXPECT_TRUE(RowOf(result, "small", "{batch} = 16, {checkpoint} = full").fits);
  EXPECT_LE(result.rehearsals, 17U);
}

TEST(SearchPlan, TheNextLargerValueThatDoesNotFitIsOfTheSameGroup) {
  Job job;
  PlanSpace space = Batches("1,2,4..128");
  space.placeholders.push_back({"checkpoint", {"none", "full"}});
  const PlanResult result = Search(space, &job);
  const PlanRow* next =
      NextThatDoesNotFit(result, RowOf(result, "large", "{batch} = 32, {checkpoint} = none"), 0);
  ASSERT_NE(next, nullptr);
  EXPECT_EQ(TextOf(next->choice), "{batch} = 128, {checkpoint} = none") << "64 fits";
  EXPECT_EQ(
      NextThatDoesNotFit(result, RowOf(result, "large", "{batch} = 32, {checkpoint} = full"), 0),
      nullptr)
      << "all of them fit";
}

TEST(SearchPlan, WhereNothingFitsTheSmallestSaysHowMuchIsMissing) {
  Job job;
  PlanSpace space = Batches("30,40,50");
  space.cards = {"small"};
  const PlanResult result = Search(space, &job);
  EXPECT_EQ(result.rehearsals, 1U);
  EXPECT_THAT(RowOf(result, "small", "{batch} = 30").why_not, HasSubstr("20.0 GiB more than"));
  EXPECT_THAT(RowOf(result, "small", "{batch} = 40").why_not, HasSubstr("smaller values"));
}

TEST(SearchPlan, AFailureForAnotherReasonIsToldAndPassedOver) {
  Job job;
  job.failing_batch = 1;
  const PlanResult result = Search(Batches("1,2,4,8"), &job);
  EXPECT_EQ(TextOf(result.rows.front().choice), "{batch} = 8");
  EXPECT_THAT(RowOf(result, "large", "{batch} = 1").why_not, HasSubstr("unlucky"));
  EXPECT_TRUE(RowOf(result, "large", "{batch} = 1").failed);
}

TEST(SearchPlan, WhatIsKnownIsKeptWhenAnAttemptIsCancelled) {
  Job job;
  const auto result =
      SearchPlan(Batches("1,2,4..64"),
                 [&](const std::string& card, const Choice& choice) -> absl::StatusOr<PlanTrial> {
                   if (job.tried.size() == 2) return absl::CancelledError("^C");
                   return job(card, choice);
                 });
  ASSERT_TRUE(result.ok());
  EXPECT_TRUE(result->interrupted);
  EXPECT_EQ(result->rehearsals, 2U);
  EXPECT_EQ(RowOf(*result, "large", "{batch} = 1").source, PlanRow::Source::kRehearsed);
  EXPECT_EQ(RowOf(*result, "large", "{batch} = 32").source, PlanRow::Source::kFitted);
}

TEST(SearchPlan, WithoutNumbersEachChoiceIsRehearsed) {
  Job job;
  PlanSpace space = Batches("4");
  space.placeholders = {{"checkpoint", {"none", "full"}}};
  const PlanResult result = Search(space, &job);
  EXPECT_EQ(result.rehearsals, 2U);
  EXPECT_EQ(TextOf(result.rows.front().choice), "{checkpoint} = none");
}

}  // namespace
}  // namespace vramstow
