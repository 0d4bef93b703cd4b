#include "tools/exports/snapshot_export.h"

#include <gtest/gtest.h>

#include "base/typed_event.h"
#include "tests/tools/list_source.h"
#include "tools/inputs/snapshot_source.h"

namespace vramstow {
namespace {

constexpr uint64_t kChunk = uint64_t{2} << 20;

uint64_t ReservedOf(const Snapshot& snapshot) {
  uint64_t bytes = 0;
  for (const SnapshotSegment& segment : snapshot.device.segments) bytes += segment.total_size;
  return bytes;
}

Event Mapping(EventKind kind, uint64_t address, uint64_t size, uint64_t handle) {
  return {.address = address,
          .size = size,
          .object = handle,
          .device = 0,
          .kind = kind,
          .memory = MemoryKind::kPhysical,
          .layer = Layer::kPool};
}

TEST(SnapshotExport, ABlockInASegmentOfThePoolIsNoMemoryOfTheDriver) {
  History history;
  history.Add(Mapping(EventKind::kMap, 0x200000, kChunk, 7));
  history.Allocate(0x200000, 4096);
  history.Allocate(0x900000, 8192);
  history.Free(0x200000);
  ListSource source(history.events());
  Snapshot snapshot = SnapshotOf(&source);
  EXPECT_EQ(ReservedOf(snapshot), kChunk + 8192);
  SnapshotSource again(std::move(snapshot));
  const Facts facts = Analyze(&again, "snapshot.pickle");
  EXPECT_EQ(facts.peak.reserved_bytes, kChunk + 8192);
  EXPECT_EQ(facts.peak.allocated_bytes, 4096u + 8192);
}

TEST(SnapshotExport, PhysicalMemoryIsInOneSegmentAlthoughItIsMappedTwice) {
  History history;
  history.Add(Mapping(EventKind::kMap, 0x200000, kChunk, 7));
  history.Add(Mapping(EventKind::kMap, 0x400000, kChunk, 8));
  history.Add(Mapping(EventKind::kMap, 0x800000, kChunk, 7));
  ListSource twice(history.events());
  const Snapshot snapshot = SnapshotOf(&twice);
  EXPECT_EQ(ReservedOf(snapshot), 2 * kChunk);
  // The earlier address is unmapped later, and then has other memory.
  history.Add(Mapping(EventKind::kUnmap, 0x200000, kChunk, 0));
  history.Add(Mapping(EventKind::kMap, 0x200000, kChunk, 9));
  history.Add(Mapping(EventKind::kMap, 0xa00000, kChunk, 7));
  ListSource later(history.events());
  EXPECT_EQ(ReservedOf(SnapshotOf(&later)), 3 * kChunk);
}

TEST(SnapshotExport, ABlockStaysInItsSegmentIfItsMemoryIsMappedElsewhereToo) {
  History history;
  history.Add(Mapping(EventKind::kMap, 0x200000, kChunk, 7));
  history.Add(Mapping(EventKind::kMap, 0x400000, kChunk, 8));
  history.Allocate(0x3fe000, 16384);  // in both mappings
  history.Allocate(0x200000, 4096);
  history.Add(Mapping(EventKind::kMap, 0x800000, kChunk, 7));
  ListSource source(history.events());
  const Snapshot snapshot = SnapshotOf(&source);
  EXPECT_EQ(snapshot.device.blocks.size(), 2u);
  EXPECT_EQ(snapshot.missing.size(), 0u);
  EXPECT_EQ(ReservedOf(snapshot), 2 * kChunk + 8192 + 4096);
}

TEST(SnapshotExport, ABlockHasASegmentIfItsMemoryWasMappedElsewhereMeanwhile) {
  History history;
  history.Add(Mapping(EventKind::kMap, 0x200000, kChunk, 7));
  history.Add(Mapping(EventKind::kMap, 0x800000, kChunk, 7));
  history.Allocate(0x800000, kChunk);
  history.Free(0x800000);
  history.Allocate(0x200000, kChunk);
  ListSource source(history.events());
  const Snapshot snapshot = SnapshotOf(&source);
  ASSERT_EQ(snapshot.device.segments.size(), 1u);
  EXPECT_EQ(snapshot.device.segments[0].address, 0x200000u);
  EXPECT_EQ(snapshot.device.segments[0].block_count, 1u);
}

class WithMarks : public ListSource {
 public:
  using ListSource::ListSource;
  std::string_view MarkText(const Event&) const override { return "epoch"; }
};

TEST(SnapshotExport, AMomentIsARangeThatEndsWhenItBegins) {
  History history;
  history.Allocate(0x10000, 4096);
  history.Add(MarkEvent{MarkKind::kMoment, 1, 0}.ToEvent());
  history.Add(MarkEvent{MarkKind::kRangeBegins, 1, 0}.ToEvent());
  history.Free(0x10000);
  history.Add(MarkEvent{MarkKind::kRangeEnds, 1, 0}.ToEvent());
  WithMarks source(history.events());
  Snapshot snapshot = SnapshotOf(&source);
  ASSERT_EQ(snapshot.annotations.size(), 4u);
  EXPECT_EQ(snapshot.annotations[0].stage, AnnotationStage::kStart);
  EXPECT_EQ(snapshot.annotations[1].stage, AnnotationStage::kEnd);
  EXPECT_EQ(snapshot.annotations[0].time_us, snapshot.annotations[1].time_us);
  EXPECT_EQ(snapshot.annotations[2].stage, AnnotationStage::kStart);
  EXPECT_EQ(snapshot.annotations[3].stage, AnnotationStage::kEnd);
  SnapshotSource again(std::move(snapshot));
  std::vector<MarkKind> kinds;
  for (Event event; again.Next(&event);) {
    if (event.kind == EventKind::kMark) kinds.push_back(MarkEvent::Of(event).kind);
  }
  EXPECT_EQ(kinds, (std::vector{MarkKind::kMoment, MarkKind::kRangeBegins, MarkKind::kRangeEnds}));
}

}  // namespace
}  // namespace vramstow
