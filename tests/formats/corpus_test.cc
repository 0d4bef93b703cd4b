// Compares the files of the corpus with the facts in its README, which were computed independently.
#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "absl/container/flat_hash_map.h"
#include "tests/formats/corpus.h"
#include "tools/formats/memory_timeline.h"
#include "tools/formats/minimalloc.h"
#include "tools/formats/snapshot_events.h"
#include "tools/formats/snapshot_reader.h"

namespace vramstow {
namespace {

struct SnapshotFacts {
  const char* file;
  uint64_t segments;
  uint64_t blocks;
  double reserved_mib;
  double allocated_mib;
  double mib_precision;  // half of the last digit in the README
  uint64_t events;
};

void PrintTo(const SnapshotFacts& facts, std::ostream* out) { *out << facts.file; }

double Mib(uint64_t bytes) { return static_cast<double>(bytes) / (1024.0 * 1024.0); }

class CorpusSnapshot : public testing::TestWithParam<SnapshotFacts> {
 protected:
  void SetUp() override {
    VRAMSTOW_NEEDS_CORPUS(GetParam().file);
    absl::StatusOr<Snapshot> read = ReadSnapshot(CorpusFile(GetParam().file));
    ASSERT_TRUE(read.ok()) << read.status();
    snapshot_ = *std::move(read);
  }

  Snapshot snapshot_;
};

TEST_P(CorpusSnapshot, HasTheFiguresOfTheReadme) {
  const SnapshotFacts& facts = GetParam();
  const SnapshotTotals totals = TotalsOf(snapshot_.device);
  EXPECT_EQ(totals.segments, facts.segments);
  EXPECT_EQ(totals.blocks, facts.blocks);
  EXPECT_NEAR(Mib(totals.reserved), facts.reserved_mib, 0.05);
  EXPECT_NEAR(Mib(totals.allocated), facts.allocated_mib, facts.mib_precision);
  uint64_t events = 0;
  for (const auto& slot : snapshot_.device.traces) events += slot.size();
  EXPECT_EQ(events, facts.events);
  EXPECT_TRUE(snapshot_.complete);
}

TEST_P(CorpusSnapshot, KeepsPyTorchsIdentitiesInEverySegment) {
  for (const SnapshotSegment& segment : snapshot_.device.segments) {
    uint64_t total = 0;
    uint64_t allocated = 0;
    uint64_t active = 0;
    uint64_t address = segment.address;
    for (const SnapshotBlock& block : snapshot_.device.BlocksOf(segment)) {
      EXPECT_EQ(block.address, address);
      address += block.size;
      total += block.size;
      if (block.state == BlockState::kActiveAllocated) allocated += block.size;
      if (block.state != BlockState::kInactive) active += block.size;
    }
    EXPECT_EQ(total, segment.total_size);
    EXPECT_EQ(allocated, segment.allocated_size);
    EXPECT_EQ(active, segment.active_size);
  }
  for (const std::string& missing : snapshot_.missing) {
    EXPECT_EQ(missing.find("add up"), std::string::npos) << missing;
  }
}

// The conversion computes the state at the beginning of the recorded window. After the window's
// events the state must equal the snapshot's own segments and blocks.
TEST_P(CorpusSnapshot, EventsEndInTheSnapshotsOwnState) {
  SnapshotEvents events(&snapshot_);
  absl::flat_hash_map<uint64_t, uint64_t> live;      // address → size
  absl::flat_hash_map<uint64_t, uint64_t> pending;   // freed, not yet completed
  absl::flat_hash_map<uint64_t, uint64_t> segments;  // address → size
  Event event;
  uint64_t sequence = 0;
  uint64_t time_ns = 0;
  while (events.Next(&event)) {
    ASSERT_EQ(event.sequence, ++sequence);
    ASSERT_GE(event.time_ns, time_ns);
    time_ns = event.time_ns;
    auto& table = event.layer == Layer::kPool ? segments : live;
    if (event.kind == EventKind::kAllocate) {
      ASSERT_TRUE(table.emplace(event.address, event.size).second) << sequence;
      ASSERT_EQ(pending.count(event.address), 0U);
    } else if (event.kind == EventKind::kFree) {
      const auto found = table.find(event.address);
      ASSERT_NE(found, table.end()) << sequence;
      EXPECT_EQ(found->second, event.size);
      if (event.layer == Layer::kFramework) pending[event.address] = event.size;
      table.erase(found);
    } else if (event.kind == EventKind::kFreeCompleted) {
      ASSERT_EQ(pending.erase(event.address), 1U) << sequence;
    }
  }
  const SnapshotTotals totals = TotalsOf(snapshot_.device);
  uint64_t allocated = 0;
  for (const auto& [address, size] : live) allocated += size;
  uint64_t reserved = 0;
  for (const auto& [address, size] : segments) reserved += size;
  EXPECT_EQ(live.size(), totals.block_states[static_cast<int>(BlockState::kActiveAllocated)]);
  EXPECT_EQ(pending.size(), totals.block_states[static_cast<int>(BlockState::kActivePendingFree)]);
  EXPECT_EQ(allocated, totals.allocated);
  EXPECT_EQ(reserved, totals.reserved);
  EXPECT_EQ(segments.size(), totals.segments);
  EXPECT_EQ(events.counts().vanished_blocks, 0U);
  EXPECT_EQ(events.counts().unexplained_blocks, 0U);
  EXPECT_EQ(events.counts().contradictory_segments, 0U);
}

INSTANTIATE_TEST_SUITE_P(
    Corpus, CorpusSnapshot,
    testing::Values(
        SnapshotFacts{"lm-medium-ctx128-training.pickle", 377, 918, 6900.0, 6501.09, 0.005, 19'136},
        SnapshotFacts{"lm-medium-ctx512-training.pickle", 400, 1041, 12074.0, 6521.33, 0.005,
                      22'332},
        SnapshotFacts{"lm-medium-ctx1024-inference.pickle", 108, 239, 3056.0, 1624.75, 0.005, 3840},
        SnapshotFacts{"lm-small-forward-bf16.pickle", 43, 178, 822.0, 500.95, 0.005, 2811},
        SnapshotFacts{"lm-small-forward-fp32.pickle", 29, 164, 582.0, 500.95, 0.005, 2043},
        SnapshotFacts{"lm-warm-cache.pickle", 216, 455, 13524.0, 1313.93, 0.005, 5163},
        SnapshotFacts{"rl-training-pools-no-events.pickle", 127, 638, 24976.0, 23761.78, 0.005, 0},
        SnapshotFacts{"flexgen-2023-old-format.pickle", 266, 791, 6350.0, 3693.1, 0.05, 1}));

Snapshot ReadReal(const char* file) {
  absl::StatusOr<Snapshot> snapshot = ReadSnapshot(CorpusFile(file));
  EXPECT_TRUE(snapshot.ok()) << snapshot.status();
  return snapshot.ok() ? *std::move(snapshot) : Snapshot{};
}

uint64_t Count(const SnapshotEvents& events, TraceAction action) {
  return events.counts().entries[static_cast<size_t>(action)];
}

TEST(Corpus, ATrainingWindowOpensInTheMiddleOfTheRun) {
  const char* file = "lm-medium-ctx128-training.pickle";
  VRAMSTOW_NEEDS_CORPUS(file);
  const Snapshot snapshot = ReadReal(file);
  const SnapshotEvents events(&snapshot);
  EXPECT_EQ(Count(events, TraceAction::kAlloc), 6526U);
  EXPECT_EQ(Count(events, TraceAction::kFreeCompleted), 6305U);
  EXPECT_EQ(events.counts().unseen_frees_completed, 438U);
}

TEST(Corpus, ALongerContextMapsOneSegmentInTheWindow) {
  const char* file = "lm-medium-ctx512-training.pickle";
  VRAMSTOW_NEEDS_CORPUS(file);
  const Snapshot snapshot = ReadReal(file);
  const SnapshotEvents events(&snapshot);
  EXPECT_EQ(Count(events, TraceAction::kSegmentAlloc), 1U);
  EXPECT_EQ(events.counts().opening_segments, snapshot.device.segments.size() - 1);
  EXPECT_EQ(snapshot.annotations.size(), 2U);
  EXPECT_EQ(snapshot.texts.Text(snapshot.annotations[0].name), "Optimizer.step#AdamW.step");
}

TEST(Corpus, ASnapshotWithoutEventsSaysSo) {
  const char* file = "rl-training-pools-no-events.pickle";
  VRAMSTOW_NEEDS_CORPUS(file);
  const Snapshot snapshot = ReadReal(file);
  const SnapshotTotals totals = TotalsOf(snapshot.device);
  EXPECT_EQ(totals.block_states[static_cast<int>(BlockState::kActivePendingFree)], 9U);
  EXPECT_EQ(totals.block_states[static_cast<int>(BlockState::kInactive)], 95U);
  absl::flat_hash_map<uint64_t, int> pools;
  for (const SnapshotSegment& segment : snapshot.device.segments) {
    ++pools[segment.pool.first << 32 | segment.pool.second];
  }
  EXPECT_EQ(pools.size(), 3U);
  ASSERT_FALSE(snapshot.missing.empty());
  EXPECT_NE(snapshot.missing.front().find("no events"), std::string::npos);
}

TEST(Corpus, TheLayoutOf2023SaysWhatItLacks) {
  const char* file = "flexgen-2023-old-format.pickle";
  VRAMSTOW_NEEDS_CORPUS(file);
  const Snapshot snapshot = ReadReal(file);
  std::string missing;
  for (const std::string& sentence : snapshot.missing) missing += sentence + "\n";
  EXPECT_NE(missing.find("no time in 1 of 1 event"), std::string::npos) << missing;
  EXPECT_NE(missing.find("no pool id in 266 segments"), std::string::npos) << missing;
  EXPECT_NE(missing.find("no address in 791 blocks"), std::string::npos) << missing;
  uint64_t with_stack = 0;
  for (const SnapshotBlock& block : snapshot.device.blocks) with_stack += block.stack != kNoStack;
  EXPECT_GT(with_stack, 0U);
  const SnapshotEvents events(&snapshot);
  EXPECT_EQ(events.counts().unseen_frees_completed, 1U);
}

TEST(Corpus, TheMemoryTimelineHasItsStartEndAndPeak) {
  const char* file = "memory_timeline.raw.gz";
  VRAMSTOW_NEEDS_CORPUS(file);
  const absl::StatusOr<Input> input = Input::Open(CorpusFile(file));
  ASSERT_TRUE(input.ok()) << input.status();
  EXPECT_EQ(input->sniffed().format, FileFormat::kMemoryTimeline);
  const absl::StatusOr<MemoryTimeline> timeline = ReadMemoryTimeline(*input);
  ASSERT_TRUE(timeline.ok()) << timeline.status();
  EXPECT_EQ(timeline->rows.size(), 16'845U);
  const auto mib = [](int64_t bytes) { return Mib(static_cast<uint64_t>(bytes)); };
  EXPECT_NEAR(mib(timeline->start_bytes), 316.68, 0.005);
  EXPECT_NEAR(mib(timeline->end_bytes), 316.68, 0.005);
  EXPECT_NEAR(mib(timeline->peak_bytes), 2940.02, 0.005);
}

TEST(Corpus, MinimallocsBoundsAreThoseOfTheReadme) {
  const std::pair<const char*, uint64_t> problems[] = {
      {"A", 1'048'576}, {"B", 1'048'576}, {"C", 1'039'360}, {"D", 986'112}, {"E", 1'048'576}};
  for (const auto& [name, load] : problems) {
    const std::string file = std::string("minimalloc/") + name + ".1048576.csv";
    VRAMSTOW_NEEDS_CORPUS(file);
    const absl::StatusOr<Input> input = Input::Open(CorpusFile(file));
    ASSERT_TRUE(input.ok()) << input.status();
    EXPECT_EQ(input->sniffed().format, FileFormat::kMinimalloc);
    const absl::StatusOr<std::vector<MinimallocBuffer>> buffers = ReadMinimalloc(*input);
    ASSERT_TRUE(buffers.ok()) << buffers.status();
    EXPECT_GE(buffers->size(), 154U) << name;
    EXPECT_EQ(MaximumLoad(*buffers), load) << name;
  }
}

}  // namespace
}  // namespace vramstow
