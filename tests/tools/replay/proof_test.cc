// Tests what the replay proves about advice: whether the request that failed would have been
// served, how much memory is needed then, and the order of the advice.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "base/units.h"
#include "tools/analysis/advice/order.h"
#include "tools/replay/failed_requests.h"
#include "tools/replay/proof.h"

namespace vramstow {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

std::vector<AdviceId> Ids(const Facts& facts) {
  std::vector<AdviceId> ids;
  for (const AdviceFacts& advice : facts.advice) ids.push_back(advice.id);
  return ids;
}

// A process under the pool that holds three blocks of 100 MiB and requests a fourth, with a limit
// of 350 MiB.
struct Job {
  Job() {
    facts.trace_metadata["option.pool"] = "on";
    for (uint64_t i = 1; i <= 3; ++i) Tensor(100 * kMiB, 10 * i);
    OutOfMemoryFacts failure;
    failure.event = 100;
    failure.device = 0;
    failure.requested_bytes = 100 * kMiB;
    failure.has_story = true;
    failure.demand.room_bytes = 350 * kMiB;
    facts.out_of_memory = {failure};
  }
  uint32_t Tensor(uint64_t size, uint64_t birth, uint64_t death = kStillLive) {
    Life life;
    life.address = birth << 32;
    life.size = life.requested = size;
    life.birth = birth;
    life.death = death;
    life.device = 0;
    life.tensor = true;
    detail.lives.push_back(life);
    return static_cast<uint32_t>(detail.lives.size() - 1);
  }
  // Adds an AdviceFacts according to which the advice frees `bytes`.
  AdviceFacts& Advice(AdviceId id, uint64_t bytes, std::vector<LifeChange> changes) {
    AdviceFacts advice;
    advice.id = id;
    advice.bytes = bytes;
    advice.fits = false;
    advice.proof.is_cause = true;
    advice.change.lives = std::move(changes);
    facts.advice.push_back(advice);
    return facts.advice.back();
  }
  void Prove(const ProofBudget& budget = {}) {
    ComposeAdvice(ProveAdvice(detail, facts, std::move(facts.advice), budget), &facts);
  }
  const OutOfMemoryFacts& failure() const { return facts.out_of_memory.back(); }

  Detail detail;
  Facts facts;
};

AdviceFacts Proved(AdviceId id, uint64_t bytes, uint64_t needs) {
  AdviceFacts advice;
  advice.id = id;
  advice.bytes = bytes;
  advice.fits = true;
  advice.proof.is_cause = id != AdviceId::kOutOfMemoryByFragmentation;
  advice.proof.is_proved = true;
  advice.replays = {{.model = "expandable", .peak_reserved_bytes = needs, .would_serve = true}};
  return advice;
}

// Expects that a cause comes before this advice if another request would not fit beside `needs`.
void ExpectACauseFirstIfNarrow(const AdviceFacts& fragmentation, uint64_t needs) {
  Job job;
  ComposeAdvice({.advice = {fragmentation, Proved(AdviceId::kKeptOutputs, 220 * kMiB, 150 * kMiB)},
                 .replays = {{.model = "native"}}},
                &job.facts);
  const bool is_narrow = needs + 100 * kMiB > 350 * kMiB;
  EXPECT_EQ(Ids(job.facts).front(),
            is_narrow ? AdviceId::kKeptOutputs : AdviceId::kOutOfMemoryByFragmentation)
      << needs;
}

TEST(Proof, ACauseComesBeforeFragmentationThatLeavesNoRoomForAnotherRequest) {
  for (const uint64_t needs : {200 * kMiB, 300 * kMiB}) {
    ExpectACauseFirstIfNarrow(Proved(AdviceId::kOutOfMemoryByFragmentation, 120 * kMiB, needs),
                              needs);
  }
}

TEST(Proof, ACauseComesBeforeThePoolThatLeavesNoRoomForAnotherRequest) {
  for (const uint64_t needs : {200 * kMiB, 300 * kMiB}) {
    AdviceFacts fragmentation = Proved(AdviceId::kOutOfMemoryByFragmentation, 120 * kMiB, 0);
    fragmentation.replays = {
        {.model = "expandable", .peak_reserved_bytes = 360 * kMiB, .would_serve = false},
        {.model = "vramstow", .peak_reserved_bytes = needs, .would_serve = true}};
    ExpectACauseFirstIfNarrow(fragmentation, needs);
  }
}

// Without fragmentation 50 MiB are left. The cause has less than two requests, but without it there
// is room for another one.
TEST(Proof, ASmallCauseThatLeavesRoomForAnotherRequestComesBeforeFragmentation) {
  for (const uint64_t needs : {150 * kMiB, 280 * kMiB}) {
    Job job;
    ComposeAdvice({.advice = {Proved(AdviceId::kOutOfMemoryByFragmentation, 16 * kMiB, 300 * kMiB),
                              Proved(AdviceId::kActivations, 150 * kMiB, needs)},
                   .replays = {{.model = "native"}}},
                  &job.facts);
    EXPECT_EQ(Ids(job.facts).front(),
              needs == 150 * kMiB ? AdviceId::kActivations : AdviceId::kOutOfMemoryByFragmentation);
  }
}

// The setting leaves 110 MiB, which a cause that has grown to more than that soon uses up.
TEST(Proof, ACauseThatGrowsBeyondTheRestComesBeforeFragmentation) {
  for (const bool grows : {false, true}) {
    Job job;
    AdviceFacts cause = Proved(AdviceId::kKeptOutputs, 220 * kMiB, 150 * kMiB);
    cause.proof.grows = grows;
    ComposeAdvice(
        {.advice = {Proved(AdviceId::kOutOfMemoryByFragmentation, 120 * kMiB, 240 * kMiB), cause},
         .replays = {{.model = "native"}}},
        &job.facts);
    EXPECT_EQ(Ids(job.facts).front(),
              grows ? AdviceId::kKeptOutputs : AdviceId::kOutOfMemoryByFragmentation);
  }
}

// If vramstow's pool serves the job, no other allocator can be recommended.
TEST(Proof, AProvedCauseComesBeforeFragmentationThatNoReplayShows) {
  for (const uint64_t free_bytes : {110 * kMiB, 400 * kMiB}) {
    Job job;
    job.facts.out_of_memory.back().pool_free_bytes = free_bytes;
    AdviceFacts fragmentation;
    fragmentation.id = AdviceId::kOutOfMemoryByFragmentation;
    fragmentation.bytes = free_bytes;
    ComposeAdvice(
        {.advice = {fragmentation, Proved(AdviceId::kKeptOutputs, 220 * kMiB, 150 * kMiB)},
         .replays = {{.model = "vramstow"}}},
        &job.facts);
    const bool is_much = free_bytes >= 4 * 100 * kMiB;
    EXPECT_EQ(Ids(job.facts).front(),
              is_much ? AdviceId::kOutOfMemoryByFragmentation : AdviceId::kKeptOutputs)
        << free_bytes;
  }
}

TEST(Proof, OnlyThePoolIsNamedIfExpandableSegmentsDoNotServeTheRequest) {
  for (const bool is_served : {false, true}) {
    Job job;
    AdviceFacts advice = Proved(AdviceId::kOutOfMemoryByFragmentation, 120 * kMiB, 300 * kMiB);
    advice.fits = is_served;
    advice.action = "Set expandable_segments:True, or let vramstow's pool serve the job.";
    advice.replays.front().would_serve = is_served;
    advice.replays.push_back({.model = "vramstow", .would_serve = true});
    ComposeAdvice({.advice = {advice}, .replays = {{.model = "native"}}}, &job.facts);
    ASSERT_EQ(job.facts.advice.size(), 1u);
    EXPECT_EQ(job.facts.advice.front().fits, true);
    EXPECT_EQ(job.facts.advice.front().action.starts_with("Let vramstow's pool"), !is_served);
    EXPECT_EQ(job.facts.advice.front().replays.size(), is_served ? 2u : 1u);
  }
}

TEST(Proof, WithoutABlockTheRequestIsServed) {
  Job job;
  job.Advice(AdviceId::kKeptOutputs, 100 * kMiB, {{.life = 1}});
  job.Prove();
  ASSERT_EQ(job.failure().replays.size(), 1u);
  EXPECT_FALSE(job.failure().replays[0].would_serve);
  EXPECT_EQ(job.failure().replays[0].peak_reserved_bytes, 400 * kMiB);
  const AdviceFacts& advice = job.facts.advice.front();
  EXPECT_EQ(advice.fits, true);
  EXPECT_EQ(advice.replayed_bytes, 100 * kMiB);
  EXPECT_FALSE(advice.is_estimate);
  ASSERT_EQ(advice.replays.size(), 1u);
  EXPECT_EQ(advice.replays[0].model, "vramstow");
  EXPECT_EQ(advice.replays[0].peak_reserved_bytes, 300 * kMiB);
  EXPECT_TRUE(advice.replays[0].would_serve);
  ASSERT_EQ(job.failure().would_fit.size(), 1u);
  EXPECT_TRUE(job.failure().would_fit[0].fits);
  EXPECT_EQ(job.failure().cause, AdviceId::kKeptOutputs);
}

// A model refuses what is larger than its device before it reserves anything, which looks like a
// small need.
TEST(Proof, ARequestThatNoDeviceCouldServeIsNotServed) {
  for (const std::string pool : {"on", "off"}) {
    for (const uint64_t requested : {100 * kMiB, 6000 * kMiB, 3 * kTiB, ~uint64_t{0}}) {
      Job job;
      job.facts.trace_metadata["option.pool"] = pool;
      job.facts.out_of_memory.back().requested_bytes = requested;
      job.Advice(AdviceId::kKeptOutputs, 300 * kMiB, {{.life = 0}, {.life = 1}, {.life = 2}});
      job.Prove();
      const uint64_t needed = std::max(requested, 300 * kMiB + requested);
      ASSERT_FALSE(job.failure().replays.empty());
      for (const ReplayFacts& replay : job.failure().replays) {
        EXPECT_FALSE(replay.would_serve) << replay.model << ", " << requested;
        EXPECT_GE(replay.peak_reserved_bytes, needed) << replay.model << ", " << requested;
        EXPECT_GE(replay.peak_allocated_bytes, needed) << replay.model << ", " << requested;
      }
      const bool is_small = requested == 100 * kMiB;
      const bool fits = std::ranges::any_of(
          job.facts.advice, [](const AdviceFacts& advice) { return advice.fits == true; });
      EXPECT_EQ(fits, is_small) << requested;
    }
  }
}

TEST(Proof, ABlockThatIsFreedInTimeIsGoneAndOneThatIsFreedTooLateIsNot) {
  Job job;
  job.Advice(AdviceId::kHeldGraphs, 100 * kMiB, {{.life = 0, .bytes = 100 * kMiB, .end = 100}});
  job.Advice(AdviceId::kActivations, 100 * kMiB, {{.life = 0, .bytes = 100 * kMiB, .end = 101}});
  job.Prove();
  EXPECT_THAT(Ids(job.facts), ElementsAre(AdviceId::kHeldGraphs))
      << "the other one changes nothing";
  EXPECT_EQ(job.facts.advice[0].fits, true);
}

TEST(Proof, WhereMemoryDidNotRunOutThePeakIsReplayed) {
  Job job;
  job.facts.out_of_memory.clear();
  job.facts.peak.reserved_bytes = 300 * kMiB;
  job.detail.peak_event = 30;
  job.Tensor(900 * kMiB, 40, 50);  // after it
  job.Advice(
      AdviceId::kGrowingMemory, 200 * kMiB,
      {{.life = 0, .bytes = 100 * kMiB, .end = 15}, {.life = 1, .bytes = 100 * kMiB, .end = 25}});
  job.Prove();
  const AdviceFacts& advice = job.facts.advice.front();
  ASSERT_EQ(advice.replays.size(), 1u);
  EXPECT_EQ(advice.replays[0].peak_reserved_bytes, 100 * kMiB);
  EXPECT_EQ(advice.replayed_bytes, 200 * kMiB);
  EXPECT_FALSE(advice.is_estimate);
  EXPECT_TRUE(job.facts.advice.front().change.lives.empty());
}

// Blocks that are each a little larger than the one before. PyTorch's cache is of no use for them.
Job GrowingJob() {
  Job job;
  job.facts.out_of_memory.clear();
  job.facts.trace_metadata.clear();
  job.detail.lives.clear();
  for (uint64_t i = 0; i < 5; ++i) job.Tensor((100 + 20 * i) * kMiB, 10 * i + 1, 10 * i + 2);
  job.detail.peak_event = 41;
  job.detail.events = 50;
  job.facts.peak.reserved_bytes = 300 * kMiB;
  return job;
}

// PyTorch releases its cache when the GPU is full. So the process itself reserved less than a
// replay that no device limits.
TEST(Proof, AnotherAllocatorIsComparedWithWhatTheProcessReserved) {
  Job job = GrowingJob();
  job.facts.peak.reserved_bytes = 450 * kMiB;  // of all devices
  DeviceFacts device;
  device.device = 0;
  device.peak_reserved_bytes = 300 * kMiB;
  device.free_bytes_at_start = 330 * kMiB;
  job.facts.devices = {device};
  AdviceFacts& other = job.Advice(AdviceId::kFragmentation, 120 * kMiB, {});
  other.change.allocator = "expandable";
  job.Advice(AdviceId::kGrowingMemory, 10 * kMiB, {{.life = 0, .bytes = 90 * kMiB}});
  const auto proved = ProveAdvice(job.detail, job.facts, job.facts.advice).advice;
  ASSERT_EQ(proved.size(), 2u);
  ASSERT_EQ(proved[0].replays.size(), 1u);
  EXPECT_EQ(proved[0].replays[0].peak_reserved_bytes, 180 * kMiB);
  EXPECT_EQ(proved[0].replayed_bytes, 120 * kMiB) << "300 MiB were measured";
  ASSERT_EQ(proved[1].replays.size(), 1u);
  EXPECT_EQ(proved[1].replays[0].peak_reserved_bytes, 690 * kMiB);
  EXPECT_EQ(proved[1].replayed_bytes, 10 * kMiB) << "a full device hides nothing";
}

TEST(Proof, TheCostOfAKeptCacheIsWhatItHolds) {
  Job job = GrowingJob();
  job.facts.peak.reserved_bytes = 180 * kMiB;
  job.detail.flushes = {3, 13, 23, 33, 43};
  job.facts.cache.flush_count = 5;
  job.facts.cache.flushes.resize(5);
  AdviceFacts& advice = job.Advice(AdviceId::kStopEmptyCache, 0, {});
  advice.change.keeps_cache = true;
  job.Prove();
  EXPECT_EQ(job.facts.advice.front().cost,
            "In a replay of the run without the calls, the allocator reserves 700 MiB instead of "
            "180 MiB.");
}

TEST(Proof, ARequestInPartsNeedsAPart) {
  Job job;
  AdviceFacts& advice = job.Advice(AdviceId::kLargeRequest, 75 * kMiB, {});
  advice.change.requested = 25 * kMiB;
  job.Prove();
  EXPECT_EQ(job.facts.advice[0].fits, true);
  EXPECT_EQ(job.facts.advice[0].replayed_bytes, 75 * kMiB);
}

TEST(Proof, WhatIsSparedLaterCountsAmongTheBytes) {
  Job job;
  AdviceFacts& advice = job.Advice(AdviceId::kOptimizerState, 300 * kMiB, {{.life = 0}});
  advice.change.requested = 0;
  advice.change.spared_later = 100 * kMiB;
  job.Prove();
  EXPECT_EQ(job.facts.advice[0].replayed_bytes, 300 * kMiB);
  EXPECT_FALSE(job.facts.advice[0].is_estimate);
}

TEST(Proof, BytesThatReplayDoesNotFindWithinATenthAreAnEstimate) {
  Job job;
  job.Advice(AdviceId::kHeldGraphs, 110 * kMiB, {{.life = 0}});
  job.Advice(AdviceId::kActivations, 112 * kMiB, {{.life = 0}});
  job.Prove();
  EXPECT_FALSE(job.facts.advice[0].is_estimate);
  EXPECT_TRUE(job.facts.advice[1].is_estimate);
}

TEST(Proof, WhatServesAloneComesFirstAndThenWhatLowersTheNeedMost) {
  Job job;
  job.Advice(AdviceId::kHeldGraphs, 10 * kMiB, {{.life = 0, .bytes = 90 * kMiB}});
  job.Advice(AdviceId::kActivations, 20 * kMiB, {{.life = 0, .bytes = 80 * kMiB}});
  job.Advice(AdviceId::kDataOnCard, 100 * kMiB, {{.life = 2}});
  job.Prove();
  EXPECT_THAT(Ids(job.facts),
              ElementsAre(AdviceId::kDataOnCard, AdviceId::kActivations, AdviceId::kHeldGraphs));
  EXPECT_EQ(job.facts.advice[1].fits, false);
  EXPECT_EQ(job.failure().cause, AdviceId::kDataOnCard);
}

TEST(Proof, TwoThatServeTogetherComeBeforeWhatServesWithNobody) {
  Job job;
  job.Advice(AdviceId::kDeadCycles, 4 * kMiB, {{.life = 0, .bytes = 96 * kMiB}});
  job.Advice(AdviceId::kHeldGraphs, 30 * kMiB, {{.life = 1, .bytes = 70 * kMiB}});
  job.Advice(AdviceId::kActivations, 30 * kMiB, {{.life = 2, .bytes = 70 * kMiB}});
  job.Prove();
  EXPECT_THAT(Ids(job.facts),
              ElementsAre(AdviceId::kHeldGraphs, AdviceId::kActivations, AdviceId::kDeadCycles));
  EXPECT_EQ(job.facts.advice[0].together_with, AdviceId::kActivations);
  EXPECT_EQ(job.facts.advice[1].together_with, AdviceId::kHeldGraphs);
  EXPECT_EQ(job.facts.advice[2].together_with, AdviceId::kNone);
  EXPECT_EQ(job.facts.advice[0].fits, false);
}

TEST(Proof, AModelThatServesTheRequestsUnchangedProvesNothing) {
  Job job;
  job.facts.out_of_memory[0].demand.room_bytes = 500 * kMiB;
  job.Advice(AdviceId::kKeptOutputs, 100 * kMiB, {{.life = 1}});
  job.Prove();
  EXPECT_TRUE(job.failure().replays[0].would_serve);
  EXPECT_EQ(job.facts.advice[0].fits, false) << "what the bytes said";
  EXPECT_TRUE(job.facts.advice[0].is_estimate);
  EXPECT_EQ(job.facts.advice[0].replayed_bytes, std::nullopt);
  EXPECT_TRUE(job.facts.advice[0].replays.empty()) << "they would be read as a proof";
}

TEST(Proof, AModelThatPacksALittleBetterHasALittleLessRoom) {
  for (const uint64_t room : {406 * kMiB, 412 * kMiB}) {
    Job job;
    job.facts.out_of_memory[0].demand.room_bytes = room;
    job.Advice(AdviceId::kKeptOutputs, 100 * kMiB, {{.life = 1}});
    job.Prove();
    EXPECT_EQ(job.failure().replays[0].would_serve, room == 412 * kMiB);
    EXPECT_EQ(job.facts.advice[0].fits, room == 406 * kMiB);
  }
}

TEST(Proof, PrivatePoolsThatBecomeOneServeWhatTheyDidNot) {
  Job job;
  job.facts.out_of_memory[0].demand.room_bytes = 500 * kMiB;
  AdviceFacts& advice = job.Advice(AdviceId::kGraphPools, 100 * kMiB, {});
  advice.change.shares_pool = true;
  job.Prove();
  EXPECT_EQ(job.facts.advice[0].fits, true);
}

TEST(Proof, OfPyTorchsAllocatorItsModelDecidesAndThePoolIsToldBesides) {
  Job job;
  job.facts.trace_metadata.clear();
  job.facts.trace_metadata["allocator.expandable_segments"] = "true";
  job.Advice(AdviceId::kKeptOutputs, 100 * kMiB, {{.life = 1}});
  job.Prove();
  ASSERT_EQ(job.failure().replays.size(), 2u);
  EXPECT_EQ(job.failure().replays[0].model, "expandable");
  ASSERT_EQ(job.facts.advice[0].replays.size(), 2u);
  EXPECT_EQ(job.facts.advice[0].replays[0].model, "expandable");
  EXPECT_EQ(job.facts.advice[0].replays[1].model, "vramstow");
}

// Every second one of 60 blocks of 5 MiB is freed. PyTorch does not release its segments of 20 MiB,
// because each is still half used.
TEST(Proof, AnotherAllocatorServesWhatLayInPieces) {
  Job job;
  job.facts.trace_metadata.clear();
  job.detail.lives.clear();
  for (uint64_t i = 0; i < 60; ++i) job.Tensor(5 * kMiB, 1 + i, i % 2 == 0 ? 70 + i : kStillLive);
  job.facts.out_of_memory[0].event = 200;
  job.facts.out_of_memory[0].demand.room_bytes = 320 * kMiB;
  job.facts.out_of_memory[0].requested_bytes = 100 * kMiB;
  AdviceFacts& advice = job.Advice(AdviceId::kOutOfMemoryByFragmentation, 100 * kMiB, {});
  advice.change.allocator = "vramstow";
  advice.fits = std::nullopt;
  advice.proof.is_cause = false;
  job.Prove();
  EXPECT_FALSE(job.failure().replays[0].would_serve) << "native";
  EXPECT_EQ(job.facts.advice[0].fits, true);
  EXPECT_THAT(job.failure().would_fit, IsEmpty()) << "it is no cause by its blocks";
}

TEST(Proof, WhatTheSameAllocatorGivesBackByItselfIsNoAdvice) {
  Job job;
  job.Advice(AdviceId::kKeptOutputs, 100 * kMiB, {{.life = 1}});
  AdviceFacts& advice = job.Advice(AdviceId::kCacheLargerThanUse, 50 * kMiB, {});
  advice.change.allocator = "vramstow";
  advice.fits = std::nullopt;
  advice.proof.is_cause = false;
  job.Prove();
  EXPECT_THAT(Ids(job.facts), ElementsAre(AdviceId::kKeptOutputs));
}

TEST(Proof, OfALongTraceTheNewestPartIsReplayed) {
  Job job;
  for (uint64_t i = 0; i < 30; ++i) job.Tensor(kMiB, 31 + 2 * i, 32 + 2 * i);
  job.Advice(AdviceId::kKeptOutputs, 100 * kMiB, {{.life = 1}});
  const FailedRequests part(job.detail, job.failure(), 10);
  EXPECT_EQ(part.size(), 3u + 10u + 1u);
  job.Prove({.most_requests = 10});
  EXPECT_EQ(job.facts.advice[0].fits, true);
  EXPECT_EQ(job.facts.advice[0].replayed_bytes, 100 * kMiB);
}

TEST(Proof, WhatThereIsNoTimeForIsCounted) {
  Job job;
  job.Advice(AdviceId::kHeldGraphs, 100 * kMiB, {{.life = 0}});
  job.Advice(AdviceId::kActivations, 100 * kMiB, {{.life = 1}});
  job.Prove({.most_work = 16});
  EXPECT_EQ(job.failure().advice_not_replayed, 1u);
  EXPECT_EQ(job.facts.advice[0].fits, true);
  EXPECT_THAT(job.facts.advice[1].replays, IsEmpty());
  Job none;
  none.Advice(AdviceId::kHeldGraphs, 100 * kMiB, {{.life = 0}});
  none.Prove({.most_work = 1});
  EXPECT_EQ(none.failure().advice_not_replayed, 1u);
  EXPECT_THAT(none.facts.advice[0].replays, IsEmpty());
}

// In a replay without a memory limit, PyTorch's allocator would retain each of these blocks and
// allocate another segment.
TEST(Proof, WhatIsNeededIsNoMoreThanWhatIsThereAndTheRequest) {
  Job job;
  job.facts.trace_metadata.clear();
  job.detail.lives.clear();
  for (uint64_t i = 0; i < 10; ++i) job.Tensor((20 + i) * 10 * kMiB, 1 + 4 * i, 7 + 4 * i);
  job.Advice(AdviceId::kConcatenation, 290 * kMiB, {{.life = 9}});
  job.facts.out_of_memory[0].event = 40;
  job.facts.out_of_memory[0].requested_bytes = 300 * kMiB;
  job.facts.out_of_memory[0].demand.room_bytes = 580 * kMiB;
  job.Prove();
  ASSERT_FALSE(job.failure().replays[0].would_serve);
  EXPECT_GT(job.failure().replays[0].peak_reserved_bytes, 580 * kMiB);
  EXPECT_LE(job.failure().replays[0].peak_reserved_bytes, 880 * kMiB);
}

// With half a million blocks and twelve pieces of advice, the limit of work allows only some of the
// advice to be replayed.
TEST(Proof, OfAVeryLongTraceOnlySoMuchIsReplayed) {
  Job job;
  job.detail.lives.clear();
  constexpr uint64_t kBlocks = 500'000;
  for (uint64_t i = 0; i < kBlocks; ++i) job.Tensor((1 + i % 7) * 64 * kKiB, 1 + i, 40 + i);
  for (uint64_t i = 0; i < 3; ++i) job.Tensor(100 * kMiB, kBlocks + 100 + i);
  job.facts.out_of_memory[0].event = kBlocks + 200;
  for (int i = 0; i < 12; ++i) {
    job.Advice(AdviceId::kHeldGraphs, 100 * kMiB, {{.life = static_cast<uint32_t>(kBlocks)}});
  }
  const ProofBudget budget{.most_requests = 40'000, .most_work = 500'000};
  job.Prove(budget);
  EXPECT_GT(job.failure().advice_not_replayed, 0u);
  EXPECT_LT(job.failure().advice_not_replayed, 12u);
  EXPECT_EQ(job.facts.advice[0].fits, true);
}

// A free completes only after other work has finished; until then the memory cannot be reused.
TEST(Proof, MemoryThatIsStillPendingIsNotFree) {
  Job job;
  job.detail.lives[0].death = 40;
  Life pending = job.detail.lives[0];
  pending.birth = 40;
  pending.death = kStillLive;
  pending.pending = true;
  job.detail.lives.push_back(pending);
  const FailedRequests requests(job.detail, job.failure(), 1000);
  EXPECT_EQ(requests.size(), 4u) << "it is not given back before the request";
  job.detail.lives.back().death = 60;
  EXPECT_EQ(FailedRequests(job.detail, job.failure(), 1000).size(), 5u);
}

TEST(Proof, WithoutAFailureAndAPeakNothingIsReplayed) {
  Job job;
  job.facts.out_of_memory.clear();
  job.Advice(AdviceId::kKeptOutputs, 100 * kMiB, {{.life = 1}});
  job.Prove();
  EXPECT_THAT(job.facts.advice[0].replays, IsEmpty());
  EXPECT_FALSE(job.facts.advice[0].change.known());
}

}  // namespace
}  // namespace vramstow
