// Tests the conversion of a snapshot to events: the state before the window, the order, and
// contradictions.
#include "tools/formats/snapshot_events.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "tests/formats/pickles.h"
#include "tools/formats/snapshot_reader.h"
#include "tools/formats/snapshot_writer.h"

namespace vramstow {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr uint64_t kMebibyte = uint64_t{1} << 20;

std::vector<Event> All(SnapshotEvents* events) {
  std::vector<Event> all;
  Event event;
  while (events->Next(&event)) all.push_back(event);
  return all;
}

std::vector<std::string> Calls(const std::vector<Event>& events) {
  std::vector<std::string> calls;
  calls.reserve(events.size());
  for (const Event& event : events) calls.emplace_back(SnapshotEvents::CallName(event.call));
  return calls;
}

TraceEntry EventEntry(TraceAction action, uint64_t address, uint64_t size,
                      int64_t time_us = kNoTime) {
  TraceEntry entry;
  entry.action = action;
  entry.address = address;
  entry.size = size;
  entry.time_us = time_us;
  return entry;
}

Snapshot WithSlot(std::vector<TraceEntry> entries) {
  Snapshot snapshot;
  snapshot.device.traces.push_back(std::move(entries));
  return snapshot;
}

void AddBlock(Snapshot* snapshot, SnapshotBlock block) {
  SnapshotSegment segment;
  segment.address = block.address;
  segment.total_size = block.size;
  segment.first_block = snapshot->device.blocks.size();
  segment.block_count = 1;
  snapshot->device.segments.push_back(segment);
  snapshot->device.blocks.push_back(block);
}

TEST(SnapshotEvents, OneDeviceFromTheStateBeforeToTheEnd) {
  const Snapshot snapshot = FullSnapshot();
  SnapshotEvents events(&snapshot, 0);
  const std::vector<Event> all = All(&events);
  EXPECT_THAT(Calls(all),
              ElementsAre("window_start", "window_start",                  // two segments
                          "window_start", "window_start", "window_start",  // three blocks
                          "free_requested", "free_completed", "annotation_start", "segment_alloc",
                          "alloc", "segment_free", "free_requested", "oom", "oom", "annotate",
                          "annotation_end", "snapshot"));
}

TEST(SnapshotEvents, DevicesAreMergedByTime) {
  const Snapshot snapshot = FullSnapshot();
  SnapshotEvents events(&snapshot);
  uint64_t time_ns = 0;
  uint64_t sequence = 0;
  std::vector<int16_t> devices;
  for (const Event& event : All(&events)) {
    EXPECT_GE(event.time_ns, time_ns);
    EXPECT_EQ(event.sequence, ++sequence);
    time_ns = event.time_ns;
    if (SnapshotEvents::CallName(event.call) != "window_start") devices.push_back(event.device);
  }
  EXPECT_EQ(time_ns, 30'000U);
  EXPECT_EQ(events.start_time_us(), 1'700'000'000'000'000);
  EXPECT_THAT(devices, ElementsAre(0, 0, 0, 2, 2, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0));
}

TEST(SnapshotEvents, ExpandableSegmentsArePlayedBackwards) {
  const Snapshot snapshot = FullSnapshot();
  SnapshotEvents events(&snapshot, 2);
  const std::vector<Event> all = All(&events);
  ASSERT_EQ(all.size(), 5U);
  // At the end 40 MiB are mapped. During the recorded window 20 of these were mapped, and another
  // 20 MiB behind them were unmapped.
  EXPECT_EQ(all[0].kind, EventKind::kMap);
  EXPECT_EQ(all[0].size, 20 * kMebibyte);
  EXPECT_EQ(all[1].kind, EventKind::kMap);
  EXPECT_EQ(all[1].address, all[0].address + 40 * kMebibyte);
  EXPECT_EQ(all[1].size, 20 * kMebibyte);
  EXPECT_EQ(all[2].kind, EventKind::kUnmap);
  EXPECT_EQ(all[3].kind, EventKind::kMap);
  EXPECT_EQ(all[3].memory, MemoryKind::kPhysical);
  EXPECT_EQ(all[3].layer, Layer::kPool);
  EXPECT_EQ(all[4].layer, Layer::kFramework);
  EXPECT_EQ(events.counts().contradictory_segments, 0U);
}

TEST(SnapshotEvents, OutOfMemoryIsWhatWasFreeAndWhatWasAskedFor) {
  const Snapshot snapshot = FullSnapshot();
  SnapshotEvents events(&snapshot, 0);
  std::vector<Event> found;
  for (const Event& event : All(&events)) {
    if (SnapshotEvents::CallName(event.call) == "oom") found.push_back(event);
  }
  ASSERT_EQ(found.size(), 2U);
  EXPECT_EQ(found[0].kind, EventKind::kMemoryInfo);
  EXPECT_EQ(found[0].size, 123 * kMebibyte);
  EXPECT_EQ(found[1].kind, EventKind::kAllocate);
  EXPECT_EQ(found[1].result, 2);
  EXPECT_EQ(found[1].requested, 900 * kMebibyte);
  EXPECT_EQ(found[1].address, 0U);
}

TEST(SnapshotEvents, StacksComeWithTheirEvents) {
  const Snapshot snapshot = FullSnapshot();
  SnapshotEvents events(&snapshot, 0);
  Event event;
  bool seen = false;
  while (events.Next(&event)) {
    if (SnapshotEvents::CallName(event.call) != "alloc") continue;
    seen = true;
    const auto frames = snapshot.stacks.Stack(events.stack());
    ASSERT_EQ(frames.size(), 2U);
    EXPECT_EQ(snapshot.texts.Text(snapshot.stacks.FrameOf(frames[0]).name), "backward");
  }
  EXPECT_TRUE(seen);
}

TEST(SnapshotEvents, MarksNameTheirText) {
  const Snapshot snapshot = FullSnapshot();
  SnapshotEvents events(&snapshot, 0);
  std::vector<std::string> marks;
  for (const Event& event : All(&events)) {
    if (event.kind == EventKind::kMark) {
      marks.emplace_back(snapshot.texts.Text(static_cast<TextId>(event.object)));
    }
  }
  EXPECT_THAT(marks, ElementsAre("step", "weights of layer 3", "step", ""));
}

TEST(SnapshotEvents, HostMemoryIsAPartOfItsOwn) {
  const Snapshot snapshot = FullSnapshot();
  SnapshotEvents events(&snapshot, kAllDevices, SnapshotPart::kHost);
  const std::vector<Event> all = All(&events);
  ASSERT_EQ(all.size(), 2U);
  for (const Event& event : all) {
    EXPECT_EQ(event.memory, MemoryKind::kHostPinned);
    EXPECT_EQ(event.device, kNoDevice);
  }
  EXPECT_EQ(all[1].size, 4096U);
  EXPECT_EQ(all[1].requested, 4000U);
}

TEST(SnapshotEvents, ABlockThatIsStillThereHasItsRealSize) {
  Snapshot snapshot = WithSlot({EventEntry(TraceAction::kAlloc, 4096, 1000),
                                EventEntry(TraceAction::kAlloc, 90'000, 1000),
                                EventEntry(TraceAction::kFreeRequested, 90'000, 1000),
                                EventEntry(TraceAction::kFreeCompleted, 90'000, 1000)});
  AddBlock(
      &snapshot,
      {.address = 4096, .size = 2048, .requested = 1000, .state = BlockState::kActiveAllocated});
  SnapshotEvents events(&snapshot);
  const std::vector<Event> all = All(&events);
  ASSERT_EQ(all.size(), 5U);
  EXPECT_EQ(all[1].size, 2048U);
  EXPECT_EQ(all[2].size, 1024U);  // rounded to 512
  EXPECT_EQ(all[2].requested, 1000U);
  EXPECT_EQ(all[3].size, 1024U);
}

TEST(SnapshotEvents, ABlockThatWaitedBeforeTheWindowIsFreedBeforeIt) {
  const Snapshot snapshot = WithSlot({EventEntry(TraceAction::kFreeCompleted, 4096, 512)});
  SnapshotEvents events(&snapshot);
  const std::vector<Event> all = All(&events);
  ASSERT_EQ(all.size(), 3U);
  EXPECT_EQ(all[0].kind, EventKind::kAllocate);
  EXPECT_EQ(all[1].kind, EventKind::kFree);
  EXPECT_EQ(all[2].kind, EventKind::kFreeCompleted);
  EXPECT_EQ(events.counts().unseen_frees_completed, 1U);
  EXPECT_THAT(events.missing(), Contains(HasSubstr("perhaps also the job's peak): 1 block")));
}

TEST(SnapshotEvents, TheOrderOfBlocksThatWaitIsNotThatOfAddresses) {
  for (const uint64_t address : {4096, 40'960}) {
    Snapshot snapshot = WithSlot({EventEntry(TraceAction::kFreeCompleted, address, 512)});
    AddBlock(
        &snapshot,
        {.address = 8192, .size = 2048, .requested = 2048, .state = BlockState::kActiveAllocated});
    SnapshotEvents events(&snapshot);
    int64_t level = 0;
    int64_t peak = 0;
    for (const Event& event : All(&events)) {
      if (event.layer != Layer::kFramework) continue;
      if (event.kind == EventKind::kAllocate) level += static_cast<int64_t>(event.size);
      if (event.kind == EventKind::kFree) level -= static_cast<int64_t>(event.size);
      peak = std::max(peak, level);
    }
    EXPECT_EQ(peak, 2560) << address;
  }
}

TEST(SnapshotEvents, TheOldFreeIsBoth) {
  const Snapshot snapshot = WithSlot(
      {EventEntry(TraceAction::kAlloc, 4096, 512), EventEntry(TraceAction::kFree, 4096, 512)});
  SnapshotEvents events(&snapshot);
  const std::vector<Event> all = All(&events);
  ASSERT_EQ(all.size(), 3U);
  EXPECT_EQ(all[1].kind, EventKind::kFree);
  EXPECT_EQ(all[2].kind, EventKind::kFreeCompleted);
}

TEST(SnapshotEvents, ContradictionsAreCountedAndSaid) {
  Snapshot snapshot = WithSlot({
      EventEntry(TraceAction::kAlloc, 4096, 512),
      EventEntry(TraceAction::kAlloc, 4096, 512),  // live already
      EventEntry(TraceAction::kFreeRequested, 4096, 512),
      EventEntry(TraceAction::kFreeCompleted, 4096, 512),
      EventEntry(TraceAction::kFreeCompleted, 4096, 512),  // freed already
      EventEntry(TraceAction::kAlloc, 8192, 512),          // not in the segments
      EventEntry(TraceAction::kSegmentAlloc, 0x9000, 512)  // neither
  });
  AddBlock(&snapshot, {.address = 4096,
                       .size = 512,
                       .requested = 512,
                       .state = BlockState::kActiveAllocated});  // freed by the events
  SnapshotEvents events(&snapshot);
  EXPECT_EQ(events.counts().live_twice, 1U);
  EXPECT_EQ(events.counts().freed_twice, 1U);
  EXPECT_EQ(events.counts().vanished_blocks, 1U);
  EXPECT_EQ(events.counts().unexplained_blocks, 1U);
  EXPECT_EQ(events.counts().contradictory_segments, 1U);
  EXPECT_EQ(events.missing().size(), 6U);
  EXPECT_FALSE(events.fits());
  EXPECT_EQ(All(&events).size(), 9U);  // segments around the two blocks, and the seven
}

// The highest sums of what is allocated and reserved at one time, of each device and of all.
struct Levels {
  std::map<int, int64_t> allocated;
  std::map<int, int64_t> reserved;
};

constexpr int kAll = -1;

Levels PeaksOf(const Snapshot& snapshot) {
  SnapshotEvents events(&snapshot);
  Levels now;
  Levels peaks;
  for (const Event& event : All(&events)) {
    const bool is_pool = event.layer == Layer::kPool;
    const bool adds = event.kind == EventKind::kAllocate || event.kind == EventKind::kMap;
    const bool takes = event.kind == EventKind::kFree || event.kind == EventKind::kUnmap;
    const int64_t change = (int64_t{adds} - int64_t{takes}) * static_cast<int64_t>(event.size);
    for (const int place : {int{event.device}, kAll}) {
      int64_t& level = (is_pool ? now.reserved : now.allocated)[place];
      level += change;
      int64_t& peak = (is_pool ? peaks.reserved : peaks.allocated)[place];
      peak = std::max(peak, level);
      EXPECT_GE(level, 0);
      EXPECT_TRUE(is_pool || level <= now.reserved[place]);
    }
  }
  return peaks;
}

// Two devices that use memory at different times. After empty_cache(), larger segments lie at the
// addresses of the old ones.
Snapshot TwoPhases(bool is_expandable) {
  constexpr uint64_t kPlace = 64 * kMebibyte;  // the distance of segments
  Snapshot snapshot;
  snapshot.device.traces.resize(2);
  const auto add = [&](int device, int64_t time_us, bool allocates, uint64_t place, uint64_t mib) {
    using enum TraceAction;
    const auto put = [&](TraceAction action) {
      snapshot.device.traces[static_cast<size_t>(device)].push_back(
          EventEntry(action, place * kPlace, mib * kMebibyte, time_us));
    };
    if (allocates) put(is_expandable ? kSegmentMap : kSegmentAlloc);
    put(allocates ? kAlloc : kFreeRequested);
    if (allocates) return;
    put(kFreeCompleted);
    put(is_expandable ? kSegmentUnmap : kSegmentFree);
  };
  for (uint64_t place = 1; place <= 4; ++place) add(0, 100, true, place, 20);
  add(0, 110, false, 9, 30);  // it was allocated before the window
  for (uint64_t place = 1; place <= 4; ++place) add(0, 120, false, place, 20);
  for (const uint64_t place : {1, 2, 9}) add(0, 130, true, place, 50);
  add(1, 10, true, 1, 40);
  add(1, 20, false, 1, 40);
  for (int64_t i = 0; i < 20; ++i) {
    add(1, 200 + i, true, 3, 2);
    add(1, 200 + i, false, 3, 2);
  }
  add(1, 300, true, 3, 20);
  const auto hold = [&](int device, uint64_t place, uint64_t mib) {
    AddBlock(&snapshot, {.address = place * kPlace,
                         .size = mib * kMebibyte,
                         .requested = mib * kMebibyte,
                         .state = BlockState::kActiveAllocated});
    snapshot.device.segments.back().device = device;
    snapshot.device.segments.back().is_expandable = is_expandable;
  };
  for (const uint64_t place : {1, 2, 9}) hold(0, place, 50);
  hold(1, 3, 20);
  hold(1, 5, 10);  // it was allocated before the window
  return snapshot;
}

TEST(SnapshotEvents, LevelsOfACutFileAreLowerBounds) {
  for (const bool is_expandable : {false, true}) {
    const Snapshot whole = TwoPhases(is_expandable);
    EXPECT_TRUE(SnapshotEvents(&whole).fits());
    const Levels peaks = PeaksOf(whole);
    std::ostringstream sink;
    ASSERT_TRUE(WriteSnapshot(whole, &sink).ok());
    const std::string bytes = sink.str();
    int64_t highest = 0;
    for (size_t size = 1; size < bytes.size(); ++size) {
      const absl::StatusOr<Input> input =
          Input::OfBytes("cut.pickle", std::string_view(bytes).substr(0, size));
      if (!input.ok()) continue;
      const absl::StatusOr<Snapshot> cut = ReadSnapshot(*input);
      if (!cut.ok()) continue;
      SCOPED_TRACE(size);
      const Levels seen = PeaksOf(*cut);
      for (const auto& [device, peak] : seen.allocated) {
        EXPECT_LE(peak, peaks.allocated.at(device));
        highest = std::max(highest, peak);
      }
      for (const auto& [device, peak] : seen.reserved) EXPECT_LE(peak, peaks.reserved.at(device));
    }
    // The last cuts leave all events.
    EXPECT_EQ(highest, peaks.allocated.at(kAll));
  }
}

TEST(SnapshotEvents, TimesNeverGoBackAndNeverOverflow) {
  const Snapshot snapshot = WithSlot({EventEntry(TraceAction::kAlloc, 4096, 512, INT64_MIN + 1),
                                      EventEntry(TraceAction::kAlloc, 8192, 512),
                                      EventEntry(TraceAction::kAlloc, 12'288, 512, INT64_MAX),
                                      EventEntry(TraceAction::kAlloc, 16'384, 512, 5)});
  SnapshotEvents events(&snapshot);
  const std::vector<Event> all = All(&events);
  ASSERT_EQ(all.size(), 4U);
  EXPECT_EQ(all[0].time_ns, 0U);
  EXPECT_EQ(all[1].time_ns, 0U);
  EXPECT_GT(all[2].time_ns, uint64_t{1} << 60);
  EXPECT_EQ(all[3].time_ns, all[2].time_ns);
}

TEST(SnapshotEvents, ManyDevicesAreMergedByTimeAndThenByNumber) {
  Snapshot snapshot;
  constexpr int kDevices = 1024;
  constexpr int kEvents = 200;
  for (int device = 0; device < kDevices; ++device) {
    std::vector<TraceEntry>& slot = snapshot.device.traces.emplace_back();
    for (int i = 0; i < kEvents; ++i) {
      // Every second entry has no time, and follows the one before it.
      const int64_t time_us = i % 2 == 0 ? 1000 + i * (device % 7 + 1) : kNoTime;
      slot.push_back(EventEntry(TraceAction::kAlloc, 512, 512, time_us));
    }
    AddBlock(&snapshot, {.address = 512, .size = 512, .state = BlockState::kActiveAllocated});
    snapshot.device.segments.back().device = device;
  }
  SnapshotEvents events(&snapshot);
  uint64_t time_ns = 0;
  int16_t device = 0;
  std::vector<int> counts(kDevices);
  for (const Event& event : All(&events)) {
    if (event.layer == Layer::kPool) continue;
    ASSERT_GE(event.time_ns, time_ns);
    ASSERT_TRUE(event.time_ns > time_ns || event.device >= device);
    time_ns = event.time_ns;
    device = event.device;
    ++counts[static_cast<size_t>(device)];
  }
  EXPECT_THAT(counts, testing::Each(kEvents));
  EXPECT_EQ(events.counts().opening_segments, uint64_t{kDevices});
}

TEST(SnapshotEvents, ASnapshotWithoutEventsHasItsStateAsTheStart) {
  Snapshot snapshot;
  AddBlock(
      &snapshot,
      {.address = 4096, .size = 2048, .requested = 1000, .state = BlockState::kActivePendingFree});
  SnapshotEvents events(&snapshot);
  EXPECT_THAT(Calls(All(&events)), ElementsAre("window_start", "window_start", "window_start"));
  EXPECT_THAT(events.missing(), IsEmpty());
}

TEST(BlockRounding, FollowsTheSettings) {
  const BlockRounding plain({});
  EXPECT_EQ(plain.Round(0), 512U);
  EXPECT_EQ(plain.Round(1), 512U);
  EXPECT_EQ(plain.Round(512), 512U);
  EXPECT_EQ(plain.Round(513), 1024U);
  EXPECT_EQ(plain.Round(UINT64_MAX), UINT64_MAX);
  // PyTorch's documentation says: 1200 with 4 divisions lies between 1024 and 2048 and becomes
  // 1280. This is the same in MiB, because small sizes are rounded to 512 bytes.
  const BlockRounding quarters(
      {{"roundup_power2_divisions.1024", int64_t{4}}, {"roundup_power2_divisions.2", int64_t{3}}});
  EXPECT_EQ(quarters.Round(1200 * kMebibyte), 1280 * kMebibyte);
  EXPECT_EQ(quarters.Round(1024 * kMebibyte), 1024 * kMebibyte);
  EXPECT_EQ(quarters.Round(3 * kMebibyte + 1),
            3 * kMebibyte + 512);  // the setting has no effect on this size
}

}  // namespace
}  // namespace vramstow
