// Tests that a written snapshot is read back unchanged, and that PyTorch's viewer can show it.
#include "tools/formats/snapshot_writer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "tests/formats/corpus.h"
#include "tests/formats/pickles.h"
#include "tools/formats/snapshot_reader.h"

namespace vramstow {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::string Write(const Snapshot& snapshot) {
  std::ostringstream sink;
  const absl::Status written = WriteSnapshot(snapshot, &sink);
  EXPECT_TRUE(written.ok()) << written;
  return sink.str();
}

Snapshot Again(const Snapshot& snapshot) {
  const std::string bytes = Write(snapshot);
  const absl::StatusOr<Input> input = Input::OfBytes("again.pickle", bytes);
  absl::StatusOr<Snapshot> read = ReadSnapshot(*input);
  EXPECT_TRUE(read.ok()) << read.status();
  return read.ok() ? *std::move(read) : Snapshot{};
}

std::vector<TraceAction> Actions(const Snapshot& snapshot) {
  std::vector<TraceAction> actions;
  for (const TraceEntry& entry : snapshot.device.traces[0]) actions.push_back(entry.action);
  return actions;
}

Snapshot WithEntries(std::vector<TraceEntry> entries) {
  Snapshot snapshot;
  snapshot.device.traces.push_back(std::move(entries));
  return snapshot;
}

TraceEntry WrittenEntry(TraceAction action, uint64_t address) {
  TraceEntry entry;
  entry.action = action;
  entry.address = address;
  entry.size = 512;
  return entry;
}

Snapshot OneSegment(const std::vector<SnapshotBlock>& blocks) {
  Snapshot snapshot;
  SnapshotSegment segment;
  segment.address = 4096;
  segment.total_size = 4096;
  segment.block_count = blocks.size();
  snapshot.device.segments.push_back(segment);
  snapshot.device.blocks = blocks;
  return snapshot;
}

void ExpectSame(const Snapshot& a, const Snapshot& b) {
  ASSERT_EQ(a.device.segments.size(), b.device.segments.size());
  for (size_t i = 0; i < a.device.segments.size(); ++i) {
    const SnapshotSegment& x = a.device.segments[i];
    const SnapshotSegment& y = b.device.segments[i];
    EXPECT_EQ(x.address, y.address);
    EXPECT_EQ(x.total_size, y.total_size);
    EXPECT_EQ(x.allocated_size, y.allocated_size);
    EXPECT_EQ(x.active_size, y.active_size);
    EXPECT_EQ(x.requested_size, y.requested_size);
    EXPECT_EQ(x.stream, y.stream);
    EXPECT_EQ(x.pool, y.pool);
    EXPECT_EQ(x.device, y.device);
    EXPECT_EQ(x.type, y.type);
    EXPECT_EQ(x.is_expandable, y.is_expandable);
    EXPECT_EQ(x.block_count, y.block_count);
  }
  ASSERT_EQ(a.device.blocks.size(), b.device.blocks.size());
  for (size_t i = 0; i < a.device.blocks.size(); ++i) {
    EXPECT_EQ(a.device.blocks[i].address, b.device.blocks[i].address);
    EXPECT_EQ(a.device.blocks[i].size, b.device.blocks[i].size);
    EXPECT_EQ(a.device.blocks[i].requested, b.device.blocks[i].requested);
    EXPECT_EQ(a.device.blocks[i].state, b.device.blocks[i].state);
    EXPECT_EQ(a.stacks.Stack(a.device.blocks[i].stack).size(),
              b.stacks.Stack(b.device.blocks[i].stack).size());
  }
  ASSERT_EQ(a.device.traces.size(), b.device.traces.size());
  for (size_t slot = 0; slot < a.device.traces.size(); ++slot) {
    ASSERT_EQ(a.device.traces[slot].size(), b.device.traces[slot].size());
    for (size_t i = 0; i < a.device.traces[slot].size(); ++i) {
      const TraceEntry& x = a.device.traces[slot][i];
      const TraceEntry& y = b.device.traces[slot][i];
      EXPECT_EQ(x.action, y.action);
      EXPECT_EQ(x.address, y.address);
      EXPECT_EQ(x.size, y.size);
      EXPECT_EQ(x.time_us, y.time_us);
      EXPECT_EQ(a.texts.Text(x.compile_context), b.texts.Text(y.compile_context));
      EXPECT_EQ(a.texts.Text(x.user_metadata), b.texts.Text(y.user_metadata));
      EXPECT_EQ(a.stacks.Stack(x.stack).size(), b.stacks.Stack(y.stack).size());
    }
  }
  ASSERT_EQ(a.settings.size(), b.settings.size());
  for (size_t i = 0; i < a.settings.size(); ++i) {
    EXPECT_EQ(a.settings[i].name, b.settings[i].name);
    EXPECT_EQ(a.settings[i].value, b.settings[i].value) << a.settings[i].name;
  }
  EXPECT_EQ(a.annotations.size(), b.annotations.size());
  EXPECT_EQ(a.stacks.stack_count(), b.stacks.stack_count());
  EXPECT_EQ(a.stacks.frame_count(), b.stacks.frame_count());
}

TEST(SnapshotWriter, WhatIsWrittenIsReadBackTheSame) {
  const Snapshot snapshot = FullSnapshot();
  const Snapshot again = Again(snapshot);
  ExpectSame(snapshot, again);
  EXPECT_EQ(again.host.segments.size(), 1U);
  EXPECT_EQ(Write(again), Write(snapshot));
}

TEST(SnapshotWriter, TheCorpusIsReadBackTheSame) {
  for (const char* file : {"lm-medium-ctx512-training.pickle", "rl-training-pools-no-events.pickle",
                           "lm-warm-cache.pickle"}) {
    VRAMSTOW_NEEDS_CORPUS(file);
    const absl::StatusOr<Snapshot> snapshot = ReadSnapshot(CorpusFile(file));
    ASSERT_TRUE(snapshot.ok()) << snapshot.status();
    ExpectSame(*snapshot, Again(*snapshot));
  }
}

TEST(SnapshotWriter, GapsBecomeInactiveBlocks) {
  const Snapshot again = Again(OneSegment({{5120, 512, 512, 0, BlockState::kActiveAllocated},
                                           {6144, 512, 512, 0, BlockState::kActiveAllocated}}));
  ASSERT_EQ(again.device.blocks.size(), 5U);
  uint64_t address = 4096;
  for (const SnapshotBlock& block : again.device.blocks) {
    EXPECT_EQ(block.address, address);
    address += block.size;
  }
  EXPECT_EQ(address, 8192U);
  EXPECT_EQ(again.device.blocks[0].state, BlockState::kInactive);
}

TEST(SnapshotWriter, OverlappingBlocksAreRefused) {
  for (const std::vector<SnapshotBlock>& blocks :
       {std::vector<SnapshotBlock>{{4096, 1024}, {4608, 512}},
        {{4096, 8192}},
        {{0, 512}},
        {{9000, 512}},
        {{4096, UINT64_MAX}}}) {
    std::ostringstream sink;
    const absl::Status written = WriteSnapshot(OneSegment(blocks), &sink);
    EXPECT_EQ(written.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(std::string(written.message()), HasSubstr("at 0x1000"));
  }
}

TEST(SnapshotWriter, EveryFreeHasItsRequestAndItsEnd) {
  using A = TraceAction;
  EXPECT_THAT(Actions(Again(WithEntries({WrittenEntry(A::kFreeCompleted, 1)}))),
              ElementsAre(A::kFreeRequested, A::kFreeCompleted));
  EXPECT_THAT(Actions(Again(WithEntries({WrittenEntry(A::kFree, 1)}))),
              ElementsAre(A::kFreeRequested, A::kFreeCompleted));
  EXPECT_THAT(
      Actions(Again(WithEntries({WrittenEntry(A::kFreeRequested, 1), WrittenEntry(A::kAlloc, 1)}))),
      ElementsAre(A::kFreeRequested, A::kFreeCompleted, A::kAlloc));
  EXPECT_THAT(
      Actions(Again(WithEntries({WrittenEntry(A::kFreeRequested, 1), WrittenEntry(A::kAlloc, 2),
                                 WrittenEntry(A::kFreeCompleted, 1)}))),
      ElementsAre(A::kFreeRequested, A::kAlloc, A::kFreeCompleted));
  EXPECT_THAT(Actions(Again(WithEntries({WrittenEntry(A::kFreeRequested, 1)}))),
              ElementsAre(A::kFreeRequested, A::kFreeCompleted));
  // A block whose free is still pending at the end stays pending.
  Snapshot waiting = OneSegment({{4096, 512, 512, 0, BlockState::kActivePendingFree}});
  waiting.device.traces = {{WrittenEntry(A::kFreeRequested, 4096)}};
  EXPECT_THAT(Actions(Again(waiting)), ElementsAre(A::kFreeRequested));
}

TEST(SnapshotWriter, NumbersOfEveryWidthAndLongListsAreReadBack) {
  Snapshot snapshot = WithEntries({});
  for (int i = 0; i < 64; ++i) {
    TraceEntry entry = WrittenEntry(TraceAction::kAlloc, uint64_t{1} << i);
    entry.size = (uint64_t{1} << i) - 1;
    entry.time_us = i % 2 == 0 ? -(int64_t{1} << (i % 63)) : int64_t{1} << (i % 63);
    snapshot.device.traces[0].push_back(entry);
  }
  for (int i = 0; i < 5000; ++i) {
    snapshot.device.traces[0].push_back(WrittenEntry(TraceAction::kAlloc, 1000 + i));
  }
  ExpectSame(snapshot, Again(snapshot));
}

TEST(SnapshotWriter, AFileAppearsWholeOrNotAtAll) {
  const std::filesystem::path folder = testing::TempDir() + "vramstow_snapshot_writer";
  std::filesystem::remove_all(folder);
  std::filesystem::create_directory(folder);
  const std::string path = folder / "out.pickle";
  ASSERT_TRUE(WriteSnapshotFile(FullSnapshot(), path).ok());
  EXPECT_TRUE(ReadSnapshot(path).ok());
  std::ofstream(path) << "mine";
  EXPECT_FALSE(WriteSnapshotFile(OneSegment({{0, 512}}), path).ok());
  std::string content;
  std::ifstream(path) >> content;
  EXPECT_EQ(content, "mine");
  const absl::Status no_folder = WriteSnapshotFile(FullSnapshot(), folder / "no" / "out.pickle");
  EXPECT_THAT(std::string(no_folder.message()), HasSubstr("cannot be written"));
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder), {}), 1);
  std::filesystem::remove_all(folder);
}

TEST(SnapshotWriter, AFullDiskIsAnError) {
  const absl::Status written = WriteSnapshotFile(FullSnapshot(), "/dev/full/x");
  EXPECT_FALSE(written.ok());
  std::ofstream full("/dev/full", std::ios::binary);
  const absl::Status to_full = WriteSnapshot(FullSnapshot(), &full);
  EXPECT_EQ(to_full.code(), absl::StatusCode::kUnavailable);
}

}  // namespace
}  // namespace vramstow
