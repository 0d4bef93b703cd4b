#include "tools/plan/fit_search.h"

#include <gtest/gtest.h>

#include <random>

namespace vramstow {
namespace {

constexpr uint64_t kMebi = uint64_t{1} << 20;

// Tries a job that needs bytes(batch), on a GPU with `capacity` bytes.
template <typename Bytes>
FitTry FitJob(uint64_t capacity, Bytes bytes) {
  return [capacity, bytes](uint64_t value) -> absl::StatusOr<FitRun> {
    FitRun run;
    run.value = value;
    run.capacity = capacity;
    run.fits = bytes(value) <= capacity;
    run.peak_reserved = run.peak_allocated = std::min(capacity, bytes(value));
    return run;
  };
}

uint64_t TrueLargest(const FitRange& range, const FitTry& job) {
  uint64_t largest = 0;
  for (uint64_t value = range.from; value <= range.to; value += range.step) {
    if (!(*job(value)).fits) break;
    largest = value;
  }
  return largest;
}

TEST(FitSearch, FindsTheBorderOfALineWithFewRuns) {
  const FitTry job = FitJob(1000 * kMebi, [](uint64_t batch) { return (100 + 7 * batch) * kMebi; });
  const FitRange range = {1, 4096, 1};
  const auto found = SearchLargest(range, job, std::nullopt, 0);
  ASSERT_TRUE(found.ok());
  EXPECT_EQ(found->largest, 128u);
  // The search needs a first run, a second run to fit a line through both, and runs of the largest
  // batch that fits and of the next one.
  EXPECT_LE(found->runs.size(), 5u);
  ASSERT_TRUE(found->line.has_value());
  EXPECT_NEAR(found->line->slope, 7.0 * kMebi, 1);
}

TEST(FitSearch, AKnownLineSavesRuns) {
  const FitTry job = FitJob(500 * kMebi, [](uint64_t batch) { return (100 + 7 * batch) * kMebi; });
  const auto found =
      SearchLargest({1, 4096, 1}, job, FitLine{100.0 * kMebi, 7.0 * kMebi}, 500 * kMebi);
  EXPECT_EQ(found->largest, 57u);
  EXPECT_LE(found->runs.size(), 3u);
}

TEST(FitSearch, AWrongLineStillFindsIt) {
  const FitTry job = FitJob(500 * kMebi, [](uint64_t batch) { return (100 + 7 * batch) * kMebi; });
  for (const FitLine& line : {FitLine{0, 1}, FitLine{0, 900.0 * kMebi}, FitLine{1e15, 1}}) {
    EXPECT_EQ(SearchLargest({1, 4096, 1}, job, line, 500 * kMebi)->largest, 57u);
  }
}

// The peak grows by whole segments of 46 MiB, as under PyTorch's allocator.
TEST(FitSearch, PeaksThatGrowInStepsTakeFewRuns) {
  constexpr uint64_t kSegment = 46 * kMebi;
  const auto bytes = [](uint64_t batch) {
    return 100 * kMebi + batch * 33 * kMebi / 1000 / kSegment * kSegment;
  };
  const FitTry job = [&](uint64_t value) {
    auto run = FitJob(900 * kMebi, bytes)(value);
    run->peak_requested = value;
    return run;
  };
  const FitRange range = {1, 1'000'000, 1};
  const auto found = SearchLargest(range, job, std::nullopt, 0);
  EXPECT_EQ(found->largest, TrueLargest(range, job));
  EXPECT_LE(found->runs.size(), 24U);  // a bisection of the whole range takes 21
}

TEST(FitSearch, SaysWhenNothingFitsAndWhenEverythingDoes) {
  const auto none =
      SearchLargest({1, 64, 1}, FitJob(kMebi, [](uint64_t) { return 2 * kMebi; }), std::nullopt, 0);
  EXPECT_FALSE(none->largest.has_value());
  EXPECT_EQ(none->runs.size(), 1u);
  const auto all = SearchLargest({1, 64, 1}, FitJob(kMebi, [](uint64_t) { return uint64_t{512}; }),
                                 std::nullopt, 0);
  EXPECT_EQ(all->largest, 64u);
  EXPECT_TRUE(all->at_end);
}

TEST(FitSearch, EqualsATrialOfAllValuesOnOddCurves) {
  std::mt19937_64 random(3);
  for (int round = 0; round < 500; ++round) {
    const uint64_t capacity = (1 + random() % 4000) * kMebi;
    const uint64_t fixed = random() % 800;
    const uint64_t slope = 1 + random() % 50;
    const uint64_t jump = 1 + random() % 64;  // from here on another algorithm takes more
    const uint64_t power = random() % 3;
    const FitTry job = FitJob(capacity, [=](uint64_t v) {
      const uint64_t curve = power == 0 ? v : power == 1 ? v * v / 16 : v / 4 * 4;
      return (fixed + slope * curve + (v > jump ? 200 : 0)) * kMebi;
    });
    const FitRange range = {1 + random() % 4, 16 + random() % 1000, 1 + random() % 8};
    const auto found = SearchLargest(range, job, std::nullopt, 0);
    ASSERT_EQ(found->largest.value_or(0), TrueLargest(range, job)) << round;
    ASSERT_LE(found->runs.size(), 24u) << round;
  }
}

TEST(FitSearch, AValueThatDoesNotMatterEndsItWithFewRuns) {
  const FitTry job = FitJob(kMebi, [](uint64_t) { return uint64_t{512}; });
  const auto found = SearchLargest({1, 65536, 1}, job, std::nullopt, 0);
  EXPECT_TRUE(found->is_flat);
  EXPECT_FALSE(found->at_end);
  EXPECT_EQ(found->runs.size(), 4u);
}

TEST(FitSearch, AValueThatMattersLaterDoesNotEndIt) {
  const FitTry job = FitJob(
      4096 * kMebi, [](uint64_t batch) { return (100 + (batch < 100 ? 0 : batch)) * kMebi; });
  const auto found = SearchLargest({1, 65536, 1}, job, std::nullopt, 0);
  EXPECT_FALSE(found->is_flat);
  EXPECT_EQ(found->largest, 3996u);
}

TEST(FitSearch, RequestedBytesThatGrowDoNotEndIt) {
  const FitTry job = [](uint64_t value) -> absl::StatusOr<FitRun> {
    FitRun run{.value = value, .fits = value <= 5000, .capacity = kMebi};
    run.peak_reserved = run.peak_allocated = value <= 5000 ? kMebi / 2 : kMebi;
    run.peak_requested = value;
    return run;
  };
  const auto found = SearchLargest({1, 65536, 1}, job, std::nullopt, 0);
  EXPECT_FALSE(found->is_flat);
  EXPECT_EQ(found->largest, 5000u);
}

TEST(FitSearch, ACancelledRunKeepsWhatIsKnown) {
  const FitTry job = [](uint64_t value) -> absl::StatusOr<FitRun> {
    if (value > 2) return absl::CancelledError("interrupted.");
    return FitRun{.value = value, .fits = true, .peak_reserved = value, .capacity = kMebi};
  };
  const auto found = SearchLargest({1, 64, 1}, job, std::nullopt, 0);
  ASSERT_TRUE(found.ok());
  EXPECT_TRUE(found->interrupted);
  EXPECT_EQ(found->largest, 1u);
}

TEST(FitSearch, AFailingRunEndsIt) {
  const auto found = SearchLargest(
      {1, 64, 1}, [](uint64_t) { return absl::UnknownError("no"); }, std::nullopt, 0);
  EXPECT_FALSE(found.ok());
}

}  // namespace
}  // namespace vramstow
