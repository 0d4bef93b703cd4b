// Tests that the levels of a trace with gaps are lower bounds.
#include <gtest/gtest.h>

#include <string_view>

#include "base/typed_event.h"
#include "tests/tools/list_source.h"
#include "tests/tools/units.h"
#include "tools/analysis/accounts/analyzer.h"

namespace vramstow {
namespace {

constexpr uint64_t kFirstBlock = 0x100000000;

// A history of tensors, after which a census may find some of them.
class TensorHistory : public History {
 public:
  uint64_t Add(EventKind kind, uint64_t address, uint64_t size, Layer layer = Layer::kFramework) {
    return History::Add({.address = address,
                         .size = size,
                         .device = 0,
                         .kind = kind,
                         .memory = MemoryKind::kDevice,
                         .layer = layer});
  }
  uint64_t Allocate(uint64_t block, uint64_t megabytes) {
    return Add(EventKind::kAllocate, kFirstBlock + block * kMega, megabytes * kMega);
  }
  uint64_t Free(uint64_t block, uint64_t megabytes) {
    return Add(EventKind::kFree, kFirstBlock + block * kMega, megabytes * kMega);
  }
  void Hold(uint64_t block) {
    History::Add(MarkEvent{.number = kFirstBlock + block * kMega}.ToEvent());
  }
};

// A source with a gap, whose marks report holders of a census.
class GapSource : public ListSource {
 public:
  GapSource(const History& history, TraceGap gap) : ListSource(history.events()) { SetGaps({gap}); }
  std::string_view MarkText(const Event&) const override {
    return "vramstow.holder other 0 1\nglobal x\ntensor";
  }
};

Facts AnalyzeWithGap(const History& history, TraceGap gap) {
  GapSource source(history, gap);
  return Analyze(&source, "gap.stow");
}

TEST(Losses, ABlockThatMayHaveBeenFreedInAGapDoesNotCountAfterIt) {
  TensorHistory history;
  history.Allocate(0, 4);
  const uint64_t last = history.Allocate(8, 2);
  const uint64_t next = history.Allocate(16, 3);
  // The memory of block 0 is allocated again, at another address.
  history.Allocate(1, 2);
  EXPECT_EQ(history.Analyze().peak.allocated_bytes, 11 * kMega);
  const Facts facts = AnalyzeWithGap(history, {last, next});
  EXPECT_EQ(facts.peak.allocated_bytes, 6 * kMega);
  EXPECT_EQ(facts.live.device.bytes, 5 * kMega);
  EXPECT_EQ(facts.counts.frees, 0u);
}

TEST(Losses, ABlockThatIsFreedOrFoundAfterAGapCounts) {
  TensorHistory history;
  history.Allocate(0, 4);
  history.Allocate(8, 2);
  const uint64_t last = history.Allocate(12, 1);
  const uint64_t next = history.Allocate(16, 3);
  history.Free(0, 4);
  history.Hold(8);
  const Facts facts = AnalyzeWithGap(history, {last, next});
  EXPECT_EQ(facts.peak.allocated_bytes, 9 * kMega);
  EXPECT_EQ(facts.live.device.bytes, 5 * kMega);
}

TEST(Losses, AFreeOfAnotherSizeIsThatOfAnotherBlock) {
  TensorHistory history;
  const uint64_t last = history.Allocate(0, 4);
  const uint64_t next = history.Allocate(16, 3);
  history.Free(0, 2);
  EXPECT_EQ(AnalyzeWithGap(history, {last, next}).peak.allocated_bytes, 4 * kMega);
}

TEST(Losses, ABlockThatWasAllocatedDuringAGapCountsOnlyThen) {
  TensorHistory history;
  const uint64_t first = history.Allocate(0, 1);
  history.Allocate(8, 4);
  const uint64_t next = history.Allocate(16, 6);
  EXPECT_EQ(AnalyzeWithGap(history, {first, next}).peak.allocated_bytes, 6 * kMega);
}

TEST(Losses, MemoryOfAPoolIsReservedIfABlockLiesInIt) {
  TensorHistory history;
  history.Add(EventKind::kAllocate, kFirstBlock, 20 * kMega, Layer::kPool);
  history.Add(EventKind::kAllocate, kFirstBlock + 100 * kMega, 8 * kMega, Layer::kPool);
  const uint64_t last = history.Allocate(0, 4);
  const uint64_t next =
      history.Add(EventKind::kAllocate, kFirstBlock + 200 * kMega, 16 * kMega, Layer::kPool);
  history.Allocate(4, 2);
  EXPECT_EQ(history.Analyze().peak.reserved_bytes, 44 * kMega);
  EXPECT_EQ(AnalyzeWithGap(history, {last, next}).peak.reserved_bytes, 36 * kMega);
}

}  // namespace
}  // namespace vramstow
