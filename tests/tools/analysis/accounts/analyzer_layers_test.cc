// Tests how the analysis counts memory that two layers record: a pool reserves the bytes, and a
// framework allocates the same bytes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/typed_event.h"
#include "tests/tools/list_source.h"
#include "tests/tools/units.h"
#include "tools/analysis/explain/explain.h"

namespace vramstow {
namespace {

constexpr uint64_t kBase = 0x100000000;

// A history with a pool (PyTorch's, or vramstow's own) and the blocks that it allocates.
class PoolHistory : public History {
 public:
  void Segment(EventKind kind, uint64_t address, uint64_t size,
               MemoryKind memory = MemoryKind::kDevice, uint64_t object = 0) {
    Add({.address = address,
         .size = size,
         .object = object,
         .device = 0,
         .kind = kind,
         .memory = memory,
         .layer = Layer::kPool});
  }
  void Tensor(EventKind kind, uint64_t address, uint64_t size, int32_t result = 0) {
    Add({.address = address,
         .size = size,
         .result = result,
         .device = 0,
         .call = 3,
         .kind = kind,
         .memory = MemoryKind::kDevice,
         .layer = Layer::kFramework});
  }
};

TEST(AnalyzerLayers, ReservedIsThePoolsAllocatedTheTensors) {
  PoolHistory history;
  history.Segment(EventKind::kAllocate, kBase, 20 * kMega);
  history.Tensor(EventKind::kAllocate, kBase, 6 * kMega);
  history.Tensor(EventKind::kAllocate, kBase + 8 * kMega, 4 * kMega);
  const Facts facts = history.Analyze();
  EXPECT_EQ(facts.peak.allocated_bytes, 10 * kMega);
  EXPECT_EQ(facts.peak.reserved_bytes, 20 * kMega);
  EXPECT_EQ(facts.counts.allocations, 2u);
  EXPECT_TRUE(facts.fragmentation.in_pool);
  EXPECT_EQ(facts.fragmentation.at_peak.free_bytes, 10 * kMega);
  EXPECT_EQ(facts.fragmentation.at_peak.largest_bytes, 8 * kMega);
  // The free range of 2 MiB counts as unusable, because it is smaller than the largest request. The
  // free range of 8 MiB is not.
  EXPECT_EQ(facts.fragmentation.at_peak.unusable_bytes, 2 * kMega);
}

TEST(AnalyzerLayers, WithoutAPoolInSightWhatIsReservedIsNotKnown) {
  PoolHistory history;
  history.Tensor(EventKind::kAllocate, kBase, kMega);
  EXPECT_FALSE(history.Analyze().reserved_known);
  EXPECT_TRUE(History().Analyze().reserved_known);
}

TEST(AnalyzerLayers, ExpandableSegmentsGrowAndShrinkInPieces) {
  PoolHistory history;
  history.Segment(EventKind::kMap, kBase, 4 * kMega, MemoryKind::kPhysical);
  history.Segment(EventKind::kMap, kBase + 4 * kMega, 4 * kMega, MemoryKind::kPhysical);
  history.Tensor(EventKind::kAllocate, kBase, kMega);
  Facts facts = history.Analyze();
  EXPECT_EQ(facts.peak.reserved_bytes, 8 * kMega);
  // Neighbouring free ranges count as one range.
  EXPECT_EQ(facts.fragmentation.at_peak.largest_bytes, 7 * kMega);
  // The unmapped range contains the end of one mapping and the beginning of the next one.
  history.Segment(EventKind::kUnmap, kBase + 2 * kMega, 4 * kMega, MemoryKind::kPhysical);
  facts = history.Analyze();
  EXPECT_EQ(facts.devices.back().end_reserved_bytes, 4 * kMega);
  EXPECT_EQ(facts.fragmentation.at_end.free_bytes, 3 * kMega);
  EXPECT_EQ(facts.fragmentation.at_end.largest_bytes, 2 * kMega);
}

TEST(AnalyzerLayers, OurPoolsMemoryCountsByItsHandles) {
  PoolHistory history;
  history.Segment(EventKind::kReserve, kBase, 1024 * kMega, MemoryKind::kAddressRange);
  history.Segment(EventKind::kAllocate, 7, 8 * kMega, MemoryKind::kPhysical);
  history.Segment(EventKind::kMap, kBase, 8 * kMega, MemoryKind::kAddressRange, 7);
  // The program requested this block from the driver, and the pool served it.
  history.Add({.address = kBase,
               .size = 2 * kMega,
               .object = 1,
               .device = 0,
               .call = 1,
               .library = 1,
               .kind = EventKind::kAllocate,
               .memory = MemoryKind::kDevice});
  Facts facts = history.Analyze();
  EXPECT_EQ(facts.peak.allocated_bytes, 2 * kMega);
  EXPECT_EQ(facts.peak.reserved_bytes, 8 * kMega);
  EXPECT_EQ(facts.fragmentation.at_peak.free_bytes, 6 * kMega);
  history.Free(kBase);
  history.Segment(EventKind::kUnmap, kBase, 8 * kMega, MemoryKind::kAddressRange, 7);
  history.Segment(EventKind::kFree, 7, 8 * kMega, MemoryKind::kPhysical);
  facts = history.Analyze();
  EXPECT_EQ(facts.devices.back().end_reserved_bytes, 0u);
  EXPECT_EQ(facts.live.device.blocks, 0u);
}

TEST(AnalyzerLayers, AnOutOfMemoryTellsWhyThePoolCouldNotServeIt) {
  PoolHistory history;
  history.Segment(EventKind::kAllocate, kBase, 20 * kMega);
  history.Tensor(EventKind::kAllocate, kBase, 2 * kMega);
  history.Tensor(EventKind::kAllocate, kBase + 10 * kMega, 4 * kMega);
  history.Add(
      {.size = 3 * kMega, .device = 0, .kind = EventKind::kMemoryInfo, .layer = Layer::kPool});
  history.Tensor(EventKind::kAllocate, 0, 12 * kMega, 2);
  const Facts facts = history.Analyze();
  ASSERT_EQ(facts.out_of_memory.size(), 1u);
  const OutOfMemoryFacts& failure = facts.out_of_memory.front();
  EXPECT_EQ(failure.requested_bytes, 12 * kMega);
  EXPECT_EQ(failure.free_bytes, 3 * kMega);
  EXPECT_EQ(failure.largest_free_range_bytes, 8 * kMega);
  EXPECT_EQ(failure.pool_free_bytes, 14 * kMega);
  EXPECT_EQ(failure.pool_free_ranges, 2u);
  EXPECT_EQ(failure.largest_hole.before_bytes, 2 * kMega);
  EXPECT_EQ(failure.largest_hole.after_bytes, 4 * kMega);
}

TEST(AnalyzerLayers, WhatAnOutOfMemoryFoundFreeIsWithoutWhatThePoolReservedSince) {
  PoolHistory history;
  history.Add({.size = 40 * kMega, .device = 0, .kind = EventKind::kMemoryInfo});
  history.Segment(EventKind::kAllocate, 7, 8 * kMega, MemoryKind::kPhysical);
  history.Segment(EventKind::kMap, kBase, 8 * kMega, MemoryKind::kPhysical, 7);
  history.Tensor(EventKind::kAllocate, kBase, 2 * kMega);
  history.Tensor(EventKind::kAllocate, 0, 64 * kMega, 2);
  // The pool's answer to the application counts cached memory as free.
  history.Add({.size = 38 * kMega, .device = 0, .call = 5, .kind = EventKind::kMemoryInfo});
  history.Tensor(EventKind::kAllocate, 0, 64 * kMega, 2);
  const Facts facts = history.Analyze();
  ASSERT_EQ(facts.out_of_memory.size(), 2u);
  for (const OutOfMemoryFacts& failure : facts.out_of_memory) {
    EXPECT_EQ(failure.free_bytes, 32 * kMega);
    EXPECT_EQ(failure.pool_free_bytes, 6 * kMega);
  }
}

// The pool answers a program with what its limit leaves, and with the limit as the device's size.
TEST(AnalyzerLayers, AnAnswerThatIsOfThePoolsLimitDoesNotTellWhatTheDeviceHasFree) {
  const std::map<std::string, std::string> facts = {
      {"device.0.free_bytes_at_start", std::to_string(900 * kMega)},
      {"device.0.total_bytes", std::to_string(1000 * kMega)}};
  PoolHistory history;
  history.Segment(EventKind::kAllocate, 7, 8 * kMega, MemoryKind::kPhysical);
  history.Segment(EventKind::kMap, kBase, 8 * kMega, MemoryKind::kPhysical, 7);
  history.Tensor(EventKind::kAllocate, kBase, 8 * kMega);
  const auto says = [&history](uint64_t free, uint64_t total) {
    history.Add({.size = free * kMega,
                 .requested = total * kMega,
                 .device = 0,
                 .call = 5,
                 .kind = EventKind::kMemoryInfo});
    history.Tensor(EventKind::kAllocate, 0, 30 * kMega, 2);
  };
  says(24, 32);    // all that a limit of 32 MiB leaves
  says(10, 32);    // less than that: the device is full
  says(20, 1000);  // no limit
  const Facts found = history.Analyze(facts);
  ASSERT_EQ(found.out_of_memory.size(), 3u);
  EXPECT_EQ(found.out_of_memory[0].free_bytes, 892 * kMega);
  EXPECT_EQ(found.out_of_memory[0].free_from, FreeKnownFrom::kStart);
  EXPECT_EQ(found.out_of_memory[1].free_bytes, 10 * kMega);
  EXPECT_EQ(found.out_of_memory[2].free_bytes, 20 * kMega);
}

TEST(AnalyzerLayers, WhatTheFrameworkDoesWithoutIsNoFailureOfTheProgram) {
  PoolHistory history;
  const auto refuse = [&history](uint64_t size, FailureEnd end) {
    history.Add({.size = size,
                 .object = ObjectOf(end),
                 .result = 2,
                 .device = 0,
                 .kind = EventKind::kAllocate,
                 .memory = MemoryKind::kDevice,
                 .layer = Layer::kFramework});
  };
  history.Segment(EventKind::kAllocate, kBase, 20 * kMega);
  history.Tensor(EventKind::kAllocate, kBase, 2 * kMega);
  for (int i = 0; i < 12; ++i) refuse(50 * kMega, FailureEnd::kDoneWithout);
  refuse(30 * kMega, FailureEnd::kProgram);
  const Facts facts = history.Analyze();
  EXPECT_EQ(facts.counts.failed_allocations, 13u);
  EXPECT_EQ(facts.counts.handled_failures, 12u);
  EXPECT_EQ(facts.counts.out_of_memory, 1u);
  EXPECT_EQ(facts.devices.back().out_of_memory, 1u);
  ASSERT_EQ(facts.out_of_memory.size(), 1u);
  EXPECT_EQ(facts.out_of_memory.front().requested_bytes, 30 * kMega);
}

TEST(AnalyzerLayers, OfManyFailuresTheLastIsKept) {
  PoolHistory history;
  for (uint64_t i = 1; i <= kMaxOutOfMemory + 50; ++i) {
    history.Tensor(EventKind::kAllocate, 0, i * kMega, 2);
  }
  const Facts facts = history.Analyze();
  EXPECT_EQ(facts.counts.out_of_memory, kMaxOutOfMemory + 50);
  ASSERT_EQ(facts.out_of_memory.size(), kMaxOutOfMemory);
  EXPECT_EQ(facts.out_of_memory.back().requested_bytes, (kMaxOutOfMemory + 50) * kMega);
}

// Makes a history in which `library` requests 8 MiB from the driver and is refused twice, and a
// request for `served` bytes succeeds afterwards.
Facts AskUntilServed(uint16_t library, uint64_t served, uint32_t other_thread = 0) {
  PoolHistory history;
  Event ask{.requested = 8 * kMega,
            .result = 2,
            .device = 0,
            .library = library,
            .kind = EventKind::kAllocate,
            .memory = MemoryKind::kDevice};
  history.Add(ask);
  history.Add(ask);
  ask.address = kBase;
  ask.size = ask.requested = served;
  ask.result = 0;
  ask.thread = other_thread;
  history.Add(ask);
  return history.Analyze();
}

TEST(AnalyzerLayers, ALibraryThatIsServedWhenItAsksAgainDidNotFail) {
  const Facts served = AskUntilServed(1, 8 * kMega);
  EXPECT_EQ(served.counts.failed_allocations, 2u);
  EXPECT_EQ(served.counts.handled_failures, 2u);
  EXPECT_EQ(served.counts.out_of_memory, 0u);
  EXPECT_EQ(served.devices.back().out_of_memory, 0u);
  EXPECT_TRUE(served.out_of_memory.empty());
  // In these histories the served request was smaller, or came from another thread, or was made by
  // the program itself, so the failures count.
  for (const Facts& failed : {AskUntilServed(1, 4 * kMega), AskUntilServed(1, 8 * kMega, 7),
                              AskUntilServed(ListSource::kProgram, 8 * kMega)}) {
    EXPECT_EQ(failed.counts.out_of_memory, 2u);
    EXPECT_EQ(failed.counts.handled_failures, 0u);
    EXPECT_EQ(failed.out_of_memory.size(), 2u);
  }
}

TEST(AnalyzerLayers, StepsOfOurPoolAreAddedUp) {
  PoolHistory history;
  const auto step = [&history](EventKind kind, uint64_t size, uint16_t library = 0) {
    history.Add(
        {.size = size, .device = 0, .library = library, .kind = kind, .layer = Layer::kPool});
  };
  for (uint64_t i = 0; i < 3; ++i) {
    history.Segment(EventKind::kAllocate, 7 + i, 2 * kMega, MemoryKind::kPhysical);
    history.Segment(EventKind::kMap, kBase + 4 * i * kMega, 2 * kMega, MemoryKind::kPhysical,
                    7 + i);
  }
  step(EventKind::kCacheMiss, kMega);
  step(EventKind::kCacheStitch, kMega);
  step(EventKind::kCacheMiss, kMega);
  step(EventKind::kCacheFenceWait, 500);
  for (uint64_t i = 0; i < 2; ++i) {
    history.Segment(EventKind::kUnmap, kBase + 4 * i * kMega, 2 * kMega, MemoryKind::kPhysical,
                    7 + i);
    history.Segment(EventKind::kFree, 7 + i, 2 * kMega, MemoryKind::kPhysical);
    step(EventKind::kCacheTrim, 2 * kMega, i == 0 ? 3 : 0);
  }
  const CacheFacts cache = history.Analyze().cache;
  EXPECT_TRUE(cache.counts_steps);
  EXPECT_EQ(cache.misses, 2u);
  EXPECT_EQ(cache.stitches, 1u);
  EXPECT_EQ(cache.fence_waits, 1u);
  EXPECT_EQ(cache.fence_wait_ns, 500u);
  ASSERT_EQ(cache.flushes.size(), 2u);
  EXPECT_EQ(cache.flushes[0].by, "empty_cache");
  EXPECT_EQ(cache.flushes[1].by, "vramstow");
  EXPECT_EQ(cache.empty_cache_calls, 1u);
}

TEST(AnalyzerLayers, LooksAtTheHostTellTheHighestAndTheLeast) {
  History history;
  const auto look = [&history](uint64_t free, uint64_t resident, bool of_group) {
    history.Add({.size = free,
                 .requested = 64 * kMega,
                 .object = resident,
                 .offset = of_group ? 1u : 0u,
                 .kind = EventKind::kMemoryInfo,
                 .memory = MemoryKind::kHostPhysical});
  };
  look(40 * kMega, kMega, true);
  look(10 * kMega, 5 * kMega, true);
  look(20 * kMega, 3 * kMega, true);
  history.Add({.address = kBase,
               .size = 8 * kMega,
               .requested = 5 * kMega,
               .kind = EventKind::kAllocate,
               .memory = MemoryKind::kHostPinned});
  const Facts facts = history.Analyze();
  EXPECT_EQ(facts.host.looks, 3u);
  EXPECT_EQ(facts.host.least_free_bytes, 10 * kMega);
  EXPECT_EQ(facts.host.highest_resident_bytes, 5 * kMega);
  EXPECT_EQ(facts.host.limit_bytes, 64 * kMega);
  EXPECT_TRUE(facts.host.is_of_group);
  EXPECT_EQ(facts.host.pinned_rounding_bytes, 3 * kMega);
}

TEST(AnalyzerLayers, FreeMemoryIsToldByTheStreamThatMayHaveIt) {
  PoolHistory history;
  const auto add = [&history](EventKind kind, Layer layer, uint64_t address, uint64_t size,
                              uint64_t stream) {
    history.Add({.address = address,
                 .size = size,
                 .stream = stream,
                 .device = 0,
                 .kind = kind,
                 .memory = MemoryKind::kDevice,
                 .layer = layer});
  };
  add(EventKind::kAllocate, Layer::kPool, kBase, 20 * kMega, 0);
  add(EventKind::kAllocate, Layer::kPool, 2 * kBase, 10 * kMega, 7);
  add(EventKind::kAllocate, Layer::kFramework, kBase, 19 * kMega, 0);
  add(EventKind::kAllocate, Layer::kFramework, 2 * kBase, kMega, 7);
  ListSource source(history.events());
  Analysis analysis = AnalyzeInDetail(&source, "history.stow");
  FindHoles(analysis.detail, &analysis.facts);
  const auto& streams = analysis.facts.fragmentation.streams;
  ASSERT_EQ(streams.size(), 2u);
  EXPECT_EQ(streams[0].stream, 0u);
  EXPECT_EQ(streams[0].free_bytes, kMega);
  EXPECT_EQ(streams[1].stream, 7u);
  EXPECT_EQ(streams[1].reserved_bytes, 10 * kMega);
  EXPECT_EQ(streams[1].free_bytes, 9 * kMega);
}

TEST(AnalyzerLayers, SegmentsGivenBackInARowAreOneFlush) {
  PoolHistory history;
  for (uint64_t i = 0; i < 3; ++i) {
    history.Segment(EventKind::kAllocate, kBase + i * 100 * kMega, 20 * kMega);
  }
  for (uint64_t i = 0; i < 2; ++i) {
    history.Segment(EventKind::kFree, kBase + i * 100 * kMega, 20 * kMega);
  }
  history.Segment(EventKind::kAllocate, kBase, 20 * kMega);
  const Facts facts = history.Analyze();
  ASSERT_EQ(facts.cache.flushes.size(), 1u);
  EXPECT_EQ(facts.cache.flushes.front().segments, 2u);
  EXPECT_EQ(facts.cache.flushes.front().bytes, 40 * kMega);
  EXPECT_EQ(facts.cache.flushes.front().taken_again_bytes, 20 * kMega);
  EXPECT_EQ(facts.cache.flushes.front().by, "unknown");
}

TEST(AnalyzerLayers, DriverBlocksAndTensorsInADriverTraceStayApart) {
  PoolHistory history;
  history.Allocate(kBase, 20 * kMega);
  history.Segment(EventKind::kAllocate, 2 * kBase, 30 * kMega);
  history.Tensor(EventKind::kAllocate, 2 * kBase, 5 * kMega);
  const Facts facts = history.Analyze();
  EXPECT_EQ(facts.peak.reserved_bytes, 50 * kMega);
  EXPECT_EQ(facts.peak.allocated_bytes, 25 * kMega);
}

TEST(AnalyzerLayers, ThePoolOfAFailureHasNoBlocksOfTheDriver) {
  PoolHistory history;
  history.Segment(EventKind::kAllocate, kBase, 20 * kMega);
  history.Allocate(0x1000, 64 * kMega);
  history.Allocate(0x2000, 8 * kMega);
  history.Free(0x2000);
  history.Tensor(EventKind::kAllocate, kBase, 6 * kMega);
  history.Tensor(EventKind::kAllocate, 0, 100 * kMega, 2);
  history.Add({.address = 0x90000,
               .size = 30 * kMega,
               .device = 1,
               .kind = EventKind::kAllocate,
               .memory = MemoryKind::kDevice});
  history.Tensor(EventKind::kAllocate, 0, 100 * kMega, 2);
  const Facts facts = history.Analyze();
  ASSERT_EQ(facts.out_of_memory.size(), 2u);
  for (const OutOfMemoryFacts& failure : facts.out_of_memory) {
    EXPECT_EQ(failure.reserved_bytes, 20 * kMega);
    EXPECT_EQ(failure.pool_free_bytes, 14 * kMega);
  }
}

TEST(AnalyzerLayers, WithoutCallStacksItIsNotKnownWhoEmptiedTheCache) {
  PoolHistory history;
  history.Segment(EventKind::kAllocate, kBase, 20 * kMega);
  history.Segment(EventKind::kFree, kBase, 20 * kMega);
  history.Segment(EventKind::kAllocate, kBase, 20 * kMega);
  const CacheFacts cache = history.Analyze().cache;
  ASSERT_EQ(cache.flushes.size(), 1u);
  EXPECT_EQ(cache.flushes[0].by, "unknown");
  EXPECT_FALSE(cache.knows_empty_cache);
}

// A source that says when a freed block may be used again, as PyTorch's snapshots do.
class CompletingSource : public ListSource {
 public:
  using ListSource::ListSource;
  bool ReportsFreeCompleted() const override { return true; }
};

TEST(AnalyzerLayers, OnlyABlockThatHasToWaitIsPending) {
  for (const bool waits : {false, true}) {
    PoolHistory history;
    history.Segment(EventKind::kAllocate, kBase, 20 * kMega);
    history.Tensor(EventKind::kAllocate, kBase, 6 * kMega);
    history.Tensor(EventKind::kFree, kBase, 6 * kMega);
    if (waits) history.Tensor(EventKind::kAllocate, kBase + 8 * kMega, 2 * kMega);
    history.Tensor(EventKind::kFreeCompleted, kBase, 6 * kMega);
    CompletingSource source(history.events());
    const Facts facts = Analyze(&source, "history.stow");
    EXPECT_EQ(facts.fragmentation.pending_peak_bytes, waits ? 6 * kMega : 0);
  }
}

TEST(AnalyzerLayers, ABlockWhoseFreeIsNotCompletedWaitsToTheEnd) {
  PoolHistory history;
  history.Segment(EventKind::kAllocate, kBase, 20 * kMega);
  history.Tensor(EventKind::kAllocate, kBase, 6 * kMega);
  history.Tensor(EventKind::kFree, kBase, 6 * kMega);
  CompletingSource source(history.events());
  EXPECT_EQ(Analyze(&source, "history.stow").fragmentation.pending_peak_bytes, 6 * kMega);
}

}  // namespace
}  // namespace vramstow
