#include "tools/analysis/accounts/analyzer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/tools/list_source.h"
#include "tests/tools/units.h"

namespace vramstow {
namespace {

using testing::IsEmpty;
using testing::SizeIs;

TEST(Analyzer, NothingGivesFactsOfNothing) {
  const Facts facts = History().Analyze();
  EXPECT_EQ(facts.counts.allocations, 0u);
  EXPECT_EQ(facts.peak.allocated_bytes, 0u);
  EXPECT_THAT(facts.largest_at_peak, IsEmpty());
  EXPECT_THAT(facts.timeline.points, SizeIs(1));
}

TEST(Analyzer, ThePeakIsTheFirstHighestMoment) {
  History history;
  history.Allocate(0x1000, 10);
  const uint64_t second = history.Allocate(0x2000, 20);
  history.Free(0x1000);
  history.Allocate(0x3000, 10);
  const Facts facts = history.Analyze();
  EXPECT_EQ(facts.peak.allocated_bytes, 30u);
  EXPECT_EQ(facts.peak.reserved_bytes, 30u);
  EXPECT_EQ(facts.peak.sequence, second);
  EXPECT_EQ(facts.peak.time_ns, second * 1000000);
  EXPECT_EQ(facts.live.device, (Amount{30, 2}));
}

TEST(Analyzer, RequestedIsWhatWasAskedForBeforeRounding) {
  History history;
  history.Add({.address = 1,
               .size = 512,
               .requested = 100,
               .kind = EventKind::kAllocate,
               .memory = MemoryKind::kDevice});
  history.Allocate(2, 30);
  const Facts facts = history.Analyze();
  EXPECT_EQ(facts.peak.allocated_bytes, 542u);
  EXPECT_EQ(facts.peak.requested_bytes, 130u);
}

TEST(Analyzer, HostAndManagedMemoryAreCountedApart) {
  History history;
  history.Allocate(0x1000, 10, MemoryKind::kHostPinned);
  history.Allocate(0x2000, 20, MemoryKind::kManaged);
  history.Allocate(0x3000, 5, MemoryKind::kHostPhysical);
  history.Add({.address = 0x9000, .size = 7, .kind = EventKind::kRegister});
  history.Allocate(0x4000, 1, MemoryKind::kArray);
  const Facts facts = history.Analyze();
  EXPECT_EQ(facts.peak.allocated_bytes, 1u);
  EXPECT_EQ(facts.peak.host_bytes, 15u);
  EXPECT_EQ(facts.peak.managed_bytes, 20u);
  EXPECT_EQ(facts.peak.registered_bytes, 7u);
  EXPECT_EQ(facts.counts.allocations, 4u) << "pinning the application's memory gives none";
  EXPECT_EQ(facts.live.other, (Amount{42, 4}));
}

TEST(Analyzer, WhoHeldThePeakIsToldAsItWasThen) {
  History history;
  history.Allocate(0x1000, 100, MemoryKind::kDevice, 1);
  history.Allocate(0x2000, 50, MemoryKind::kDevice, 2);
  history.Free(0x1000);
  history.Allocate(0x3000, 10, MemoryKind::kDevice, 3);
  const Facts facts = history.Analyze();
  ASSERT_THAT(facts.by_library, SizeIs(3));
  EXPECT_EQ(facts.by_library[0].name, "library-1.so");
  EXPECT_EQ(facts.by_library[0].path, "/lib/library-1.so");
  EXPECT_EQ(facts.by_library[0].at_peak, (Amount{100, 1}));
  EXPECT_EQ(facts.by_library[0].at_end, (Amount{0, 0}));
  EXPECT_EQ(facts.by_library[1].at_peak, (Amount{50, 1}));
  EXPECT_EQ(facts.by_library[2].at_peak, (Amount{0, 0}));
  EXPECT_EQ(facts.by_library[2].at_end, (Amount{10, 1}));
  ASSERT_THAT(facts.largest_at_peak, SizeIs(2));
  EXPECT_EQ(facts.largest_at_peak[0].address, 0x1000u) << "although it was freed afterwards";
}

TEST(Analyzer, FreesOfBlocksFromBeforeTheTraceChangeNoLevel) {
  History history;
  history.Free(0x7000);
  history.Allocate(0x1000, 10);
  history.Free(0x8000);
  const Facts facts = history.Analyze();
  EXPECT_EQ(facts.counts.frees, 2u);
  EXPECT_EQ(facts.counts.frees_of_unseen, 2u);
  EXPECT_EQ(facts.peak.allocated_bytes, 10u);
  EXPECT_EQ(facts.live.device.bytes, 10u);
}

TEST(Analyzer, FreeingNothingIsLegal) {
  History history;
  history.Free(0);
  const Facts facts = history.Analyze();
  EXPECT_EQ(facts.counts.frees, 1u);
  EXPECT_EQ(facts.counts.frees_of_unseen, 0u);
}

TEST(Analyzer, ARefusedFreeIsUndone) {
  History history;
  history.Allocate(0x1000, 10);
  history.Refuse(history.Free(0x1000));
  history.Refuse(history.Free(0x5000));
  const Facts facts = history.Analyze();
  EXPECT_EQ(facts.counts.frees, 0u);
  EXPECT_EQ(facts.counts.refused_frees, 2u);
  EXPECT_EQ(facts.counts.frees_of_unseen, 0u);
  EXPECT_EQ(facts.live.device, (Amount{10, 1}));
  EXPECT_THAT(facts.largest_at_peak, SizeIs(1));
  EXPECT_EQ(Find(facts.by_call, "call-2")->failed, 2u);
}

TEST(Analyzer, ARefusalOfSomethingUnseenIsCountedAndChangesNothing) {
  History history;
  history.Allocate(0x1000, 10);
  history.Refuse(77);
  const Facts facts = history.Analyze();
  EXPECT_EQ(facts.counts.unmatched_refusals, 1u);
  EXPECT_EQ(facts.live.device.bytes, 10u);
}

TEST(Analyzer, AnAddressThatIsGivenOutAgainIsANewBlock) {
  History history;
  for (int i = 0; i < 3; ++i) {
    history.Allocate(0x1000, 10);
    history.Free(0x1000);
  }
  history.Allocate(0x1000, 30);
  const Facts facts = history.Analyze();
  EXPECT_EQ(facts.peak.allocated_bytes, 30u);
  EXPECT_EQ(facts.counts.frees_missed, 0u);
}

TEST(Analyzer, AFreeThatWasLostShowsWhenTheAddressIsGivenOutAgain) {
  History history;
  history.Allocate(0x1000, 10);
  history.Allocate(0x1000, 20);
  const Facts facts = history.Analyze();
  EXPECT_EQ(facts.counts.frees_missed, 1u);
  EXPECT_EQ(facts.live.device, (Amount{20, 1}));
}

TEST(Analyzer, AStreamOrderedBlockMayBeFreedByEitherCall) {
  History history;
  history.Allocate(0x1000, 10, MemoryKind::kDeviceStream);
  history.Free(0x1000, MemoryKind::kDevice);
  const Facts facts = history.Analyze();
  EXPECT_EQ(facts.live.device.bytes, 0u);
  EXPECT_EQ(Find(facts.by_kind, "device_stream")->frees, 1u);
}

TEST(Analyzer, PhysicalMemoryLivesWhileItIsHeldOrMapped) {
  History history;
  history.Reserve(0x100000, 4 * kMega);
  history.Allocate(7, 2 * kMega, MemoryKind::kPhysical);
  history.Map(0x100000, 2 * kMega, 7);
  history.Free(7, MemoryKind::kPhysical);
  EXPECT_EQ(history.Analyze().live.device.bytes, 2 * kMega) << "the mapping holds it";
  History with_unmap = history;
  with_unmap.Unmap(0x100000, 2 * kMega);
  EXPECT_EQ(with_unmap.Analyze().live.device.bytes, 0u);
  History retained = history;
  retained.Add({.address = 0x100000, .object = 7, .kind = EventKind::kRetain});
  retained.Unmap(0x100000, 2 * kMega);
  EXPECT_EQ(retained.Analyze().live.device.bytes, 2 * kMega) << "the new reference holds it";
  retained.Free(7, MemoryKind::kPhysical);
  EXPECT_EQ(retained.Analyze().live.device.bytes, 0u);
  EXPECT_EQ(retained.Analyze().peak.mapped_bytes, 2 * kMega);
}

TEST(Analyzer, AHandleMayMeanNewMemoryWhileTheOldIsStillMapped) {
  History history;
  history.Allocate(7, 10, MemoryKind::kPhysical);
  history.Map(0x100000, 10, 7);
  history.Free(7, MemoryKind::kPhysical);
  history.Allocate(7, 20, MemoryKind::kPhysical);
  Facts facts = history.Analyze();
  EXPECT_EQ(facts.live.device, (Amount{30, 2}));
  EXPECT_EQ(facts.counts.frees_missed, 0u);
  history.Unmap(0x100000, 10);
  EXPECT_EQ(history.Analyze().live.device, (Amount{20, 1}));
}

TEST(Analyzer, RefusedReleasesAndUnmapsAreUndone) {
  History history;
  history.Reserve(0x100000, 100);
  history.Allocate(7, 10, MemoryKind::kPhysical);
  history.Map(0x100000, 10, 7);
  history.Refuse(history.Free(7, MemoryKind::kPhysical));
  history.Refuse(history.Unmap(0x100000, 10));
  history.Refuse(history.Unreserve(0x100000, 100));
  history.Free(7, MemoryKind::kPhysical);
  history.Refuse(history.Unmap(0x100000, 10));
  const Facts facts = history.Analyze();
  EXPECT_EQ(facts.live.device, (Amount{10, 1}));
  EXPECT_EQ(facts.fragmentation.at_end.free_bytes, 90u);
  history.Unmap(0x100000, 10);
  history.Unreserve(0x100000, 100);
  EXPECT_EQ(history.Analyze().live.device, (Amount{0, 0}));
  EXPECT_EQ(history.Analyze().fragmentation.at_end.free_bytes, 0u);
}

TEST(Analyzer, ImportsBelongToWhoCreatedThem) {
  History history;
  history.Add({.address = 0x1000, .size = 50, .kind = EventKind::kImport});
  history.Add(
      {.size = 70, .object = 9, .kind = EventKind::kImport, .memory = MemoryKind::kPhysical});
  Facts facts = history.Analyze();
  EXPECT_EQ(facts.peak.allocated_bytes, 0u);
  EXPECT_EQ(facts.peak.imported_bytes, 120u);
  EXPECT_EQ(facts.counts.allocations, 0u);
  history.Add({.address = 0x1000, .kind = EventKind::kCloseImport});
  history.Free(9, MemoryKind::kPhysical);
  facts = history.Analyze();
  EXPECT_EQ(facts.counts.frees_of_unseen, 0u);
  EXPECT_EQ(facts.live.device.bytes, 0u);
}

TEST(Analyzer, FailedAllocationsGiveNoMemory) {
  History history;
  history.Add(
      {.requested = 100, .result = 1, .kind = EventKind::kAllocate, .memory = MemoryKind::kDevice});
  history.Add({.requested = 500,
               .result = 2,
               .device = 0,
               .kind = EventKind::kAllocate,
               .memory = MemoryKind::kDevice});
  history.Add({.address = 1, .size = 5, .result = 1, .kind = EventKind::kMap});
  const Facts facts = history.Analyze();
  EXPECT_EQ(facts.counts.allocations, 0u);
  EXPECT_EQ(facts.counts.failed_allocations, 2u);
  EXPECT_EQ(facts.counts.out_of_memory, 1u);
  ASSERT_THAT(facts.out_of_memory, SizeIs(1));
  EXPECT_EQ(facts.out_of_memory[0].requested_bytes, 500u);
  EXPECT_EQ(facts.out_of_memory[0].free_from, FreeKnownFrom::kNothing);
  EXPECT_EQ(facts.out_of_memory[0].largest_free_range_bytes, std::nullopt);
}

TEST(Analyzer, WhatWasFreeAtAnOutOfMemoryIsWhatTheDriverLastSaidAndTheChangesSince) {
  const Event failure = {.requested = 900,
                         .result = 2,
                         .device = 0,
                         .kind = EventKind::kAllocate,
                         .memory = MemoryKind::kDevice};
  History history;
  history.Allocate(0x1000, 100);
  history.Add(failure);
  history.Add({.size = 700, .requested = 1000, .device = 0, .kind = EventKind::kMemoryInfo});
  history.Allocate(0x2000, 200);
  history.Free(0x1000);
  history.Add(failure);
  const Facts facts = history.Analyze({{"device.0.free_bytes_at_start", "950"},
                                       {"device.0.total_bytes", "1000"},
                                       {"device.0.name", "Card"}});
  ASSERT_THAT(facts.out_of_memory, SizeIs(2));
  EXPECT_EQ(facts.out_of_memory[0].free_from, FreeKnownFrom::kStart);
  EXPECT_EQ(facts.out_of_memory[0].free_bytes, 850u);
  EXPECT_EQ(facts.out_of_memory[1].free_from, FreeKnownFrom::kMemoryInfo);
  EXPECT_EQ(facts.out_of_memory[1].free_bytes, 600u);
  EXPECT_EQ(facts.out_of_memory[1].allocated_bytes, 200u);
  ASSERT_THAT(facts.devices, SizeIs(1));
  EXPECT_EQ(facts.devices[0].name, "Card");
  EXPECT_EQ(facts.devices[0].total_bytes, 1000u);
  EXPECT_EQ(facts.devices[0].lowest_free_bytes, 700u);
  EXPECT_EQ(facts.devices[0].peak_bytes, 300u);
}

TEST(Analyzer, ADeviceResetTakesWhatBelongsToItsContext) {
  History history;
  history.Allocate(0x1000, 10);
  history.Allocate(0x2000, 20, MemoryKind::kDeviceStream);
  history.Allocate(3, 30, MemoryKind::kPhysical);
  history.Add({.address = 0x4000,
               .size = 40,
               .device = 1,
               .kind = EventKind::kAllocate,
               .memory = MemoryKind::kDevice});
  history.Add({.device = 0, .kind = EventKind::kDeviceReset});
  const Facts facts = history.Analyze();
  EXPECT_EQ(facts.counts.freed_with_context, 1u);
  EXPECT_EQ(facts.counts.frees, 0u);
  EXPECT_EQ(facts.live.device, (Amount{90, 3}));
}

TEST(Analyzer, AResetBesideOtherContextsTakesNothingThatIsKnown) {
  const Event create = {.device = 0, .kind = EventKind::kContextCreate};
  History history;
  history.Add(create);
  history.Add(create);
  history.Allocate(0x1000, 10);
  history.Add({.device = 0, .kind = EventKind::kDeviceReset});
  EXPECT_EQ(history.Analyze().live.device.bytes, 10u);
}

TEST(Analyzer, BindingsToMulticastObjectsAndSparseArraysAreNoAddresses) {
  History history;
  history.Reserve(100, 100);
  history.Allocate(7, 50, MemoryKind::kPhysical);
  for (MemoryKind memory : {MemoryKind::kMulticast, MemoryKind::kArray}) {
    history.Add(
        {.address = 120, .size = 50, .object = 7, .kind = EventKind::kMap, .memory = memory});
    history.Add({.address = 120, .size = 50, .kind = EventKind::kUnmap, .memory = memory});
  }
  history.Free(7, MemoryKind::kPhysical);
  const Facts facts = history.Analyze();
  EXPECT_EQ(facts.peak.mapped_bytes, 0u);
  EXPECT_EQ(facts.live.device.bytes, 0u);
  EXPECT_EQ(facts.fragmentation.at_end.free_bytes, 100u);
}

TEST(Analyzer, ImportedPoolsAreNoMemory) {
  History history;
  for (uint64_t pool : {5u, 6u}) {
    history.Add({.object = pool, .kind = EventKind::kImport, .memory = MemoryKind::kDeviceStream});
  }
  EXPECT_EQ(history.Analyze().counts.frees_missed, 0u);
}

TEST(Analyzer, APeakThatARefusalBringsBackIsOfThatMoment) {
  History history;
  history.Allocate(0x1000, 100);
  const uint64_t free = history.Free(0x1000);
  history.Allocate(0x2000, 50);
  const uint64_t refusal = history.Refuse(free);
  const Facts facts = history.Analyze();
  EXPECT_EQ(facts.peak.allocated_bytes, 150u);
  EXPECT_EQ(facts.peak.sequence, refusal);
  EXPECT_THAT(facts.largest_at_peak, SizeIs(2));
}

TEST(Analyzer, OnlyTheLastContextOfADeviceTakesItsMemory) {
  const Event create = {.device = 0, .kind = EventKind::kContextCreate};
  const Event destroy = {.device = 0, .kind = EventKind::kContextDestroy};
  History history;
  history.Add(create);
  history.Add(create);
  history.Allocate(0x1000, 10);
  history.Add(destroy);
  EXPECT_EQ(history.Analyze().live.device.bytes, 10u);
  history.Add(destroy);
  EXPECT_EQ(history.Analyze().live.device.bytes, 0u);
  History opened_late;
  opened_late.Allocate(0x1000, 10);
  opened_late.Add(destroy);
  EXPECT_EQ(opened_late.Analyze().live.device.bytes, 10u) << "there may be others";
}

TEST(Analyzer, HolesInReservedRangesAreFragmentation) {
  History history;
  history.Reserve(0, 0);  // nonsense, without effect
  history.Reserve(1000, 100);
  history.Allocate(1, 10, MemoryKind::kPhysical);
  history.Map(1020, 10, 1);
  history.Allocate(2, 40, MemoryKind::kPhysical);
  history.Map(1060, 10, 2);
  const Facts facts = history.Analyze();
  EXPECT_TRUE(facts.fragmentation.any_ranges);
  EXPECT_EQ(facts.fragmentation.largest_request_bytes, 40u);
  // The free ranges are [1000, 1020), [1030, 1060) and [1070, 1100).
  EXPECT_EQ(facts.fragmentation.at_end.free_bytes, 80u);
  EXPECT_EQ(facts.fragmentation.at_end.largest_bytes, 30u);
  EXPECT_EQ(facts.fragmentation.at_end.unusable_bytes, 80u) << "no hole can take 40 bytes";
  EXPECT_EQ(facts.fragmentation.at_peak.free_bytes, 90u) << "at the peak only one was mapped";
  EXPECT_EQ(facts.fragmentation.worst.unusable_bytes, 80u);
  EXPECT_EQ(facts.fragmentation.worst_time_ns, facts.end_ns);
}

TEST(Analyzer, LiveBlocksAreGroupedAndTheLargestComeFirst) {
  History history;
  for (uint64_t i = 0; i < 5; ++i) history.Allocate(0x1000 + i, 10);
  history.Allocate(0x2000, 45);
  const Facts facts = history.Analyze();
  ASSERT_THAT(facts.live.groups, SizeIs(2));
  EXPECT_EQ(facts.live.groups[0].count, 5u);
  EXPECT_EQ(facts.live.groups[0].size, 10u);
  EXPECT_EQ(facts.live.groups[0].address, 0x1000u) << "the first of them";
  EXPECT_EQ(facts.live.groups[1].size, 45u);
}

TEST(Analyzer, ListsAreCutAndSaySo) {
  History history;
  for (uint64_t i = 1; i <= 300; ++i) history.Allocate(i, i);
  for (int i = 0; i < 150; ++i) {
    history.Add(
        {.requested = 1, .result = 2, .kind = EventKind::kAllocate, .memory = MemoryKind::kDevice});
  }
  const Facts facts = history.Analyze();
  EXPECT_THAT(facts.live.groups, SizeIs(kMaxLiveGroups));
  EXPECT_EQ(facts.live.groups_left_out, 300 - kMaxLiveGroups);
  EXPECT_THAT(facts.largest_at_peak, SizeIs(kMaxBlocksAtPeak));
  EXPECT_EQ(facts.counts.out_of_memory, 150u);
  EXPECT_THAT(facts.out_of_memory, SizeIs(kMaxOutOfMemory));
}

TEST(Analyzer, TheHistogramHasAllDeviceAllocationsBySize) {
  History history;
  history.Allocate(1, 0);
  history.Allocate(2, 1);
  history.Allocate(3, 512);
  history.Allocate(4, 1023);
  history.Free(4);
  history.Allocate(5, 1024);
  history.Allocate(6, 99999, MemoryKind::kHostPinned);
  const Facts facts = history.Analyze();
  ASSERT_THAT(facts.histogram, SizeIs(4));
  EXPECT_EQ(facts.histogram[2].from_bytes, 512u);
  EXPECT_EQ(facts.histogram[2].to_bytes, 1023u);
  EXPECT_EQ(facts.histogram[2].allocations, 2u);
  EXPECT_EQ(facts.histogram[2].total_bytes, 1535u);
  EXPECT_EQ(facts.histogram[2].at_end, (Amount{512, 1}));
}

TEST(Analyzer, EventsOfALayerFromTheFutureAreCountedOnly) {
  History history;
  history.Add({.address = 1,
               .size = 10,
               .kind = EventKind::kAllocate,
               .memory = MemoryKind::kDevice,
               .layer = static_cast<Layer>(77)});
  const Facts facts = history.Analyze();
  EXPECT_EQ(facts.counts.other_layers, 1u);
  EXPECT_EQ(facts.counts.allocations, 0u);
}

TEST(Analyzer, EventsOfAKindFromTheFutureAreCountedOnly) {
  History history;
  history.Add({.address = 1, .size = 10, .kind = static_cast<EventKind>(200)});
  history.Allocate(5, 5, static_cast<MemoryKind>(99));
  const Facts facts = history.Analyze();
  EXPECT_EQ(facts.counts.by_kind[200], 1u);
  EXPECT_EQ(facts.peak.allocated_bytes, 0u);
  EXPECT_EQ(facts.counts.allocations, 1u);
}

// Every text and name of this source is very long, and many events share it.
class LongTexts : public ListSource {
 public:
  using ListSource::ListSource;
  std::string_view CallName(uint16_t) const override { return text_; }
  std::string_view LibraryPath(uint16_t) const override { return text_; }
  std::string_view MarkText(const Event&) const override { return text_; }

 private:
  std::string text_ = std::string(100'000, 't');
};

TEST(Analyzer, LongTextsAreNotKeptForEachEvent) {
  History history;
  for (uint64_t i = 1; i <= 5; ++i) {
    history.Add({.kind = EventKind::kMark});
    history.Add({.object = 1, .kind = EventKind::kLaunch});
    history.Add({.address = i,
                 .size = 10,
                 .call = static_cast<uint16_t>(i),
                 .library = static_cast<uint16_t>(i),
                 .kind = EventKind::kAllocate,
                 .memory = MemoryKind::kDevice});
  }
  LongTexts source(history.events());
  const Analysis analysis = AnalyzeInDetail(&source, "long.stow");
  ASSERT_THAT(analysis.detail.marks, SizeIs(5));
  for (const MarkDetail& mark : analysis.detail.marks) EXPECT_THAT(mark.text, SizeIs(1024));
  ASSERT_GE(analysis.detail.sites.size(), 2u);
  for (const SiteDetail& site : analysis.detail.sites) {
    EXPECT_LE(site.site.size() + site.operation.size(), 2048u);
  }
  for (const LaunchedFacts& kernel : analysis.facts.launches.by_kernel) {
    EXPECT_LE(kernel.name.size(), 1024u);
  }
}

TEST(Analyzer, RankAndRehearsalComeFromTheFacts) {
  const Facts facts = History().Analyze({{"process.rank", "3"}, {"simulated", "NVIDIA H200"}});
  EXPECT_EQ(facts.rank, 3);
  EXPECT_TRUE(facts.simulated);
  EXPECT_EQ(History().Analyze({{"process.rank", "three"}}).rank, std::nullopt);
}

}  // namespace
}  // namespace vramstow
