// Tests every kind of advice: the evidence from which it is given, the bytes that it promises, and
// when it is not given.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "tests/tools/units.h"
#include "tools/analysis/advice/advise.h"
#include "tools/analysis/advice/find_causes.h"

namespace vramstow {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

constexpr uint64_t kSecond = 1'000'000'000;

// A training in which 600 MiB of 1,000 are activations, in two iterations of 100 events.
struct Job {
  Job() {
    facts.peak.allocated_bytes = facts.peak.requested_then_bytes = 1000 * kMega;
    facts.by_category = {{"activations", {600 * kMega, 6}, "by where it was allocated"}};
    facts.iterations.found_by = "marks";
    facts.iterations.is_sure = true;
    facts.report.closed = true;
    facts.iterations.count = 2;
    for (uint64_t i = 0; i < 2; ++i) {
      IterationFacts iteration;
      iteration.begin_event = 1 + i * 100;
      iteration.end_event = 100 + i * 100;
      iteration.peak_bytes = 1000 * kMega;
      facts.iterations.list.push_back(iteration);
    }
    detail.peak_event = 150;
    detail.events = 200;
    detail.sites.resize(3);
    Site(1, "model.py:10 forward", Phase::kForward);
    Site(2, "train.py:40 step", Phase::kUnknown);
    // An allocation in a backward pass shows that the job trains.
    detail.sites[2].in_backward = true;
    detail.sites[2].allocations = 1;
  }
  void Site(size_t number, const std::string& name, Phase phase) {
    detail.sites[number].site = name;
    detail.sites[number].phase = phase;
    detail.sites[number].by_stack = true;
    detail.sites[number].at_peak = {200 * kMega, 1};
  }
  void Lives(uint32_t site, uint64_t size, uint64_t birth, uint64_t death, uint64_t ns = 0) {
    Life life;
    life.site = site;
    life.size = size;
    life.birth = birth;
    life.death = death;
    life.death_ns = ns;
    detail.lives.push_back(life);
  }
  void Tensor(uint32_t site, uint64_t size, uint64_t birth, uint64_t death) {
    Lives(site, size, birth, death);
    detail.lives.back().tensor = true;
  }
  // Adds a request that failed although enough memory was free, in pieces that are too small.
  void FailsForWantOfPlace() {
    OutOfMemoryFacts failure;
    failure.requested_bytes = 32 * kMega;
    failure.has_pool = true;
    failure.pool_free_bytes = 150 * kMega;
    failure.pool_free_ranges = 10;
    failure.largest_free_range_bytes = 28 * kMega;
    facts.out_of_memory = {failure};
  }
  // Returns the first advice for a failure with this cause; there is other advice, too.
  AdviceId FirstOf(const Cause& cause) const {
    const std::vector<AdviceFacts> advice =
        FindAdvice(detail, CategoryFinder(detail), facts, {cause});
    EXPECT_GE(advice.size(), 2u);
    return advice.empty() ? AdviceId::kNone : advice.front().id;
  }
  // Returns the advice of this kind, or null if there is none.
  const AdviceFacts* Find(AdviceId id) {
    facts.advice = FindAdvice(detail, CategoryFinder(detail), facts);
    const auto found = std::ranges::find(facts.advice, id, &AdviceFacts::id);
    if (found == facts.advice.end()) return nullptr;
    EXPECT_THAT(found->title, Not(IsEmpty()));
    EXPECT_THAT(found->evidence, Not(IsEmpty()));
    EXPECT_THAT(found->cost, Not(IsEmpty()));
    EXPECT_THAT(found->action, Not(IsEmpty()));
    return &*found;
  }

  Detail detail;
  Facts facts;
};

TEST(Advice, WhatBringsNothingAtThePeakComesLast) {
  Job job;
  job.facts.cache.known = true;
  DeviceFacts device;
  device.end_reserved_bytes = 4000 * kMega;
  device.end_bytes = 100 * kMega;
  job.facts.devices = {device};
  ASSERT_NE(job.Find(AdviceId::kCacheAtEnd), nullptr);
  EXPECT_EQ(job.facts.advice.back().id, AdviceId::kCacheAtEnd);
  EXPECT_GT(job.facts.advice.back().bytes, job.facts.advice.front().bytes);
}

TEST(Advice, ACacheIsNoWasteWhereTheProgramFreedEverythingBeforeItEnded) {
  Job job;
  job.facts.cache.known = true;
  DeviceFacts device;
  device.end_reserved_bytes = 4000 * kMega;
  job.facts.devices = {device};
  EXPECT_EQ(job.Find(AdviceId::kCacheAtEnd), nullptr);
}

TEST(Advice, WhatGrowsWithEachPassComesBeforeFragmentationAndOtherCausesAfterIt) {
  Job job;
  job.FailsForWantOfPlace();
  Cause cause;
  cause.bytes = 900 * kMega;
  cause.id = AdviceId::kHeldGraphs;
  for (const bool grows : {true, false}) {
    cause.proof.grows = grows;
    EXPECT_EQ(job.FirstOf(cause),
              grows ? AdviceId::kHeldGraphs : AdviceId::kOutOfMemoryByFragmentation);
  }
}

TEST(Advice, ACauseThatDwarfsWhatLayInPiecesComesBeforeFragmentation) {
  Job job;
  job.FailsForWantOfPlace();
  Cause cause;
  cause.id = AdviceId::kAttentionScores;
  cause.fits = true;
  for (const uint64_t bytes : {600 * kMega, 599 * kMega}) {
    cause.bytes = bytes;
    EXPECT_EQ(job.FirstOf(cause) == AdviceId::kAttentionScores, bytes == 600 * kMega);
  }
}

TEST(Advice, NoMoreIsFragmentedThanThePoolHadFree) {
  Job job;
  job.FailsForWantOfPlace();
  OutOfMemoryFacts& failure = job.facts.out_of_memory.back();
  failure.event = 150;
  // The gaps between the blocks have 250 MiB. A part of them was mapped elsewhere.
  constexpr uint64_t kStart = uint64_t{1} << 40;
  for (uint64_t i = 0; i < 10; ++i) {
    job.Tensor(2, kMega, 10 + i, kStillLive);
    job.detail.lives.back().address = kStart + 26 * i * kMega;
    job.detail.lives.back().device = static_cast<int16_t>(failure.device);
  }
  Life segment = job.detail.lives.front();
  segment.size = 260 * kMega;
  segment.tensor = false;
  job.detail.segments.push_back(segment);
  const AdviceFacts* advice = job.Find(AdviceId::kOutOfMemoryByFragmentation);
  ASSERT_NE(advice, nullptr);
  EXPECT_EQ(advice->place, "train.py:40 step");
  EXPECT_EQ(advice->bytes, failure.pool_free_bytes);
}

TEST(Advice, AnOutOfMemoryOfNothingAtAllHasNoCause) {
  Job job;
  // A damaged trace may contain a request for no bytes, after all blocks were freed.
  job.Lives(1, kMega, 1, 2);
  OutOfMemoryFacts failure;
  failure.event = 100;
  job.facts.out_of_memory = {failure};
  const Iterations passes(job.detail, failure.event);
  const CategoryFinder categories(job.detail);
  EXPECT_THAT(ExplainOutOfMemory(job.detail, passes, categories, &job.facts), IsEmpty());
}

TEST(Advice, CheckpointNamesTheSitesThatHoldMost) {
  Job job;
  const AdviceFacts* advice = job.Find(AdviceId::kCheckpointActivations);
  ASSERT_NE(advice, nullptr);
  EXPECT_EQ(advice->bytes, 600 * kMega);
  EXPECT_THAT(advice->evidence, HasSubstr("model.py:10 forward"));
}

TEST(Advice, LowerPrecisionIsForJobsThatShowNone) {
  Job job;
  const AdviceFacts* advice = job.Find(AdviceId::kLowerPrecision);
  ASSERT_NE(advice, nullptr);
  EXPECT_EQ(advice->bytes, 300 * kMega);
  job.detail.frames = {"autocast_mode.py:44 decorate_autocast"};
  EXPECT_EQ(job.Find(AdviceId::kLowerPrecision), nullptr);
  job.detail.frames.clear();
  // aten::_to_copy also converts a model that is moved to the GPU.
  SiteDetail& site = job.detail.sites.emplace_back();
  site.operation = "aten::_to_copy";
  EXPECT_NE(job.Find(AdviceId::kLowerPrecision), nullptr);
  site.module = "Decoder.blocks.0";
  EXPECT_EQ(job.Find(AdviceId::kLowerPrecision), nullptr);
  site = {};
  site.site = "backward of ToCopy in Decoder.blocks.0";
  EXPECT_EQ(job.Find(AdviceId::kLowerPrecision), nullptr);
}

TEST(Advice, AccumulationSaysHowManyMicroBatches) {
  Job job;
  job.detail.sites[2].in_optimizer = true;  // it trains
  const AdviceFacts* advice = job.Find(AdviceId::kAccumulateGradients);
  ASSERT_NE(advice, nullptr);
  EXPECT_EQ(advice->bytes, 300 * kMega);
  EXPECT_THAT(advice->title, HasSubstr("2 micro-batches"));
  // The more of the peak grows with the batch, the more accumulation steps are worthwhile.
  job.facts.by_category.front().at_peak.bytes = 800 * kMega;
  advice = job.Find(AdviceId::kAccumulateGradients);
  ASSERT_NE(advice, nullptr);
  EXPECT_THAT(advice->title, HasSubstr("4 micro-batches"));
  EXPECT_EQ(advice->bytes, 600 * kMega);
  EXPECT_THAT(advice->action, HasSubstr("after every 4."));
}

TEST(Advice, LargestBatchThatWouldFit) {
  Job job;
  EXPECT_EQ(job.Find(AdviceId::kLargerBatch), nullptr) << "the card is not known";
  DeviceFacts device;
  device.total_bytes = 4000 * kMega;
  device.free_bytes_at_start = 2200 * kMega;
  job.facts.devices = {device};
  const AdviceFacts* advice = job.Find(AdviceId::kLargerBatch);
  ASSERT_NE(advice, nullptr);
  EXPECT_THAT(advice->evidence, HasSubstr("a batch 2.2 to 3.0 times as large fits"));
  EXPECT_THAT(advice->action, HasSubstr("vramstow fit"));
  EXPECT_EQ(advice->bytes, 0u);
  job.facts.devices.front().free_bytes_at_start = 1010 * kMega;
  EXPECT_EQ(job.Find(AdviceId::kLargerBatch), nullptr);
}

// If the memory of an iteration is not known, or if the job uses little of the GPU, the advice
// names no batch size, because none is proved.
TEST(Advice, OfALargerBatchNoMoreIsSaidThanIsKnown) {
  Job job;
  DeviceFacts device;
  device.total_bytes = 2200 * kMega;
  job.facts.devices = {device};
  job.facts.iterations.is_sure = false;
  const AdviceFacts* advice = job.Find(AdviceId::kLargerBatch);
  ASSERT_NE(advice, nullptr);
  EXPECT_THAT(advice->evidence, Not(HasSubstr("times as large")));
  EXPECT_THAT(advice->action, HasSubstr("vramstow fit"));
  job.facts.iterations.is_sure = true;
  job.facts.devices.front().total_bytes = 30'000 * kMega;
  advice = job.Find(AdviceId::kLargerBatch);
  ASSERT_NE(advice, nullptr);
  EXPECT_THAT(advice->title, HasSubstr("of the GPU's memory were never used"));
  EXPECT_THAT(advice->evidence, Not(HasSubstr("times as large")));
  EXPECT_THAT(advice->action, Not(HasSubstr("vramstow fit")));
}

TEST(Advice, NoLargerBatchFitsAJobThatRanOutOfMemoryOrThatLeaks) {
  Job job;
  DeviceFacts device;
  device.total_bytes = 4000 * kMega;
  job.facts.devices = {device};
  ASSERT_NE(job.Find(AdviceId::kLargerBatch), nullptr);
  job.facts.out_of_memory.emplace_back();
  EXPECT_EQ(job.Find(AdviceId::kLargerBatch), nullptr);
  job.facts.out_of_memory.clear();
  job.facts.lifetimes.growing.emplace_back();
  EXPECT_EQ(job.Find(AdviceId::kLargerBatch), nullptr);
}

TEST(Advice, PiecesThatAreTooSmallCountAgainstALargerBatch) {
  Job job;
  DeviceFacts device;
  device.total_bytes = 2800 * kMega;
  job.facts.devices = {device};
  const AdviceFacts* advice = job.Find(AdviceId::kLargerBatch);
  ASSERT_NE(advice, nullptr);
  EXPECT_THAT(advice->evidence, HasSubstr("a batch 2.8 to 4.0 times as large fits"));
  job.facts.fragmentation.at_peak.unusable_bytes = 200 * kMega;
  advice = job.Find(AdviceId::kLargerBatch);
  ASSERT_NE(advice, nullptr);
  EXPECT_THAT(advice->evidence, HasSubstr("a batch 2.3 to 3.0 times as large fits"));
}

TEST(Advice, OfAJobWithRoomOnlyWhatLargerBatchFits) {
  Job job;
  job.detail.sites[2].in_optimizer = true;  // it trains
  job.facts.cache.known = true;
  DeviceFacts device;
  device.total_bytes = 1900 * kMega;
  job.facts.devices = {device};
  EXPECT_NE(job.Find(AdviceId::kCheckpointActivations), nullptr);
  EXPECT_NE(job.Find(AdviceId::kAccumulateGradients), nullptr);
  job.facts.devices.front().total_bytes = 2000 * kMega;
  EXPECT_NE(job.Find(AdviceId::kLargerBatch), nullptr);
  EXPECT_EQ(job.facts.advice.size(), 1u);
  // If a job ran out of memory, there was no memory to spare, whatever the rest of the trace shows.
  job.facts.out_of_memory.emplace_back();
  EXPECT_NE(job.Find(AdviceId::kCheckpointActivations), nullptr);
}

// At the allocated peak little memory grows with the batch. Later much memory grows with it, and
// that moment decides which batch size fits.
TEST(Advice, TheMomentThatFillsTheCardFirstDecidesWhatBatchFits) {
  Job job;
  job.facts.iterations.list.front().begin_event = 10;
  DeviceFacts device;
  device.total_bytes = 3000 * kMega;
  job.facts.devices = {device};
  job.detail.sites[2].phase = Phase::kInit;
  job.Tensor(2, 400 * kMega, 1, kStillLive);  // parameters
  job.Tensor(1, 100 * kMega, 20, 40);         // blocks of an iteration
  job.Tensor(1, 300 * kMega, 22, 38);
  const AdviceFacts* advice = job.Find(AdviceId::kLargerBatch);
  ASSERT_NE(advice, nullptr);
  EXPECT_THAT(advice->evidence, HasSubstr("a batch 3.0 times as large fits, or a larger one"));
}

TEST(Advice, ReferencesKeptUntilTheirSuccessorIsMade) {
  Job job;
  // Each iteration allocates one such block. The block is freed only after the next iteration has
  // allocated its own block, and after the peak.
  job.Lives(2, 64 * kMega, 60, 162);
  job.Lives(2, 64 * kMega, 160, kStillLive);
  const AdviceFacts* advice = job.Find(AdviceId::kDeleteReference);
  ASSERT_NE(advice, nullptr);
  EXPECT_EQ(advice->bytes, 64 * kMega);
  EXPECT_THAT(advice->evidence, HasSubstr("train.py:40 step"));
  EXPECT_THAT(advice->action, HasSubstr("before train.py:40 step"));
  // Nothing is gained by an earlier free of a block that is freed before the peak or in its own
  // iteration.
  job.detail.lives[0].death = 140;
  EXPECT_EQ(job.Find(AdviceId::kDeleteReference), nullptr);
  job.detail.lives[0].death = 162;
  job.detail.lives[0].birth = 110;
  EXPECT_EQ(job.Find(AdviceId::kDeleteReference), nullptr);
}

TEST(Advice, BlocksThatWaitLongCouldWaitElsewhere) {
  Job job;
  job.facts.end_ns = kSecond;
  // A transfer of 240 MiB over PCIe takes 10 ms.
  job.Lives(1, 240 * kMega, 110, 190, kSecond);
  job.Lives(1, 240 * kMega, 111, 160, kSecond / 1000);
  const AdviceFacts* advice = job.Find(AdviceId::kOffloadBlocks);
  ASSERT_NE(advice, nullptr);
  EXPECT_EQ(advice->bytes, 240 * kMega);
  EXPECT_THAT(advice->evidence, HasSubstr("model.py:10 forward"));
  EXPECT_THAT(advice->cost, HasSubstr("ms of transfers"));
}

TEST(Advice, GradientsThatAreThereWhenAnIterationBegins) {
  Job job;
  job.Site(2, "backward of Linear", Phase::kBackward);
  job.facts.by_category.push_back({"gradients", {100 * kMega, 1}, ""});
  EXPECT_EQ(job.Find(AdviceId::kSetToNone), nullptr);
  job.Lives(2, 80 * kMega, 90, 190);
  const AdviceFacts* advice = job.Find(AdviceId::kSetToNone);
  ASSERT_NE(advice, nullptr);
  EXPECT_EQ(advice->bytes, 80 * kMega);
}

TEST(Advice, EmptyCacheIsNamedByItsLine) {
  Job job;
  FlushFacts flush;
  flush.by = "empty_cache";
  flush.line = "train.py:77 loop";
  flush.bytes = flush.taken_again_bytes = 50 * kMega;
  flush.duration_ns = 2'000'000;
  FlushFacts later = flush;
  later.time_ns = 100'000'000;
  job.facts.cache.flushes = {flush};
  EXPECT_EQ(job.Find(AdviceId::kStopEmptyCache), nullptr) << "once is no habit";
  job.facts.cache.flushes = {flush, later};
  const AdviceFacts* advice = job.Find(AdviceId::kStopEmptyCache);
  ASSERT_NE(advice, nullptr);
  EXPECT_THAT(advice->action, HasSubstr("at train.py:77 loop"));
  EXPECT_THAT(advice->evidence, HasSubstr("took 4% of the time"));
  flush.line = later.line = "";
  job.facts.cache.flushes = {flush, later};
  EXPECT_EQ(job.Find(AdviceId::kStopEmptyCache), nullptr) << "PyTorch or a library calls it";
  flush.line = later.line = "train.py:77 loop";
  later.time_ns = 1'000'000'000;
  job.facts.cache.flushes = {flush, later};
  EXPECT_EQ(job.Find(AdviceId::kStopEmptyCache), nullptr) << "it costs next to nothing";
}

TEST(Advice, FragmentationLeadsToSettingsOfTheAllocator) {
  Job job;
  job.facts.cache.known = true;
  job.facts.peak.reserved_bytes = job.facts.peak.reserved_then_bytes = 1500 * kMega;
  job.facts.fragmentation.at_peak.unusable_bytes = 400 * kMega;
  const AdviceFacts* advice = job.Find(AdviceId::kFragmentation);
  ASSERT_NE(advice, nullptr);
  EXPECT_EQ(advice->bytes, 400 * kMega);
  EXPECT_THAT(advice->action, HasSubstr("expandable_segments:True"));
}

TEST(Advice, OfFragmentationInOurPoolSpeaksOfNoOtherAllocator) {
  Job job;
  job.facts.trace_metadata["option.pool"] = "on";
  job.facts.cache.known = true;
  job.facts.peak.reserved_bytes = job.facts.peak.reserved_then_bytes = 1500 * kMega;
  job.facts.fragmentation.at_peak.unusable_bytes = 400 * kMega;
  const AdviceFacts* advice = job.Find(AdviceId::kFragmentation);
  ASSERT_NE(advice, nullptr);
  EXPECT_THAT(advice->action + advice->cost, Not(HasSubstr("expandable")));
}

// Adds a segment of 200 MiB, and the block that lay in it, for the stream with this number.
void AddStream(Job* job, uint64_t number, bool is_segment_of_stream, uint64_t death) {
  Life life;
  life.address = number << 32;
  life.size = 200 * kMega;
  life.birth = 1 + 20 * number;
  life.device = 0;
  if (is_segment_of_stream) life.stream = number;
  job->detail.segments.push_back(life);
  life.size = 100 * kMega;
  life.death = death;
  life.stream = number;
  life.tensor = true;
  job->detail.lives.push_back(life);
}

TEST(Advice, OfStreamsThatAreLeftBehindAsksForOneThatIsUsedAgain) {
  for (const bool snapshot : {true, false}) {
    Job job;
    AddStream(&job, 9, snapshot, kStillLive);
    AddStream(&job, 1, snapshot, 40);
    AddStream(&job, 2, snapshot, 60);
    EXPECT_EQ(job.Find(AdviceId::kIdleStreams), nullptr) << "two may be used in turn";
    AddStream(&job, 3, snapshot, 80);
    const AdviceFacts* advice = job.Find(AdviceId::kIdleStreams);
    ASSERT_NE(advice, nullptr);
    EXPECT_EQ(advice->bytes, 600 * kMega);
    EXPECT_THAT(advice->action, HasSubstr("Create a stream once"));
  }
}

TEST(Advice, OfALargeCacheNamesTheAllocatorsOwnSettings) {
  Job job;
  job.facts.cache.known = true;
  job.facts.peak.reserved_bytes = job.facts.peak.allocated_bytes + 800 * kMega;
  const AdviceFacts* advice = job.Find(AdviceId::kCacheLargerThanUse);
  ASSERT_NE(advice, nullptr);
  EXPECT_EQ(advice->bytes, 800 * kMega);
  EXPECT_THAT(advice->action, HasSubstr("PYTORCH_CUDA_ALLOC_CONF"));
  job.facts.trace_metadata["option.pool"] = "on";
  advice = job.Find(AdviceId::kCacheLargerThanUse);
  ASSERT_NE(advice, nullptr);
  EXPECT_THAT(advice->action, Not(HasSubstr("PYTORCH_CUDA_ALLOC_CONF")));
  EXPECT_THAT(advice->action, HasSubstr("vramstow ctl PID empty-cache"));
}

TEST(Advice, OfNothingThereIsNone) {
  const Detail nothing;
  EXPECT_THAT(FindAdvice(nothing, CategoryFinder(nothing), Facts()), IsEmpty());
}

}  // namespace
}  // namespace vramstow
