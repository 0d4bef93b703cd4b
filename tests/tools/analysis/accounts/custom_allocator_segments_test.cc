// Tests memory of a program's own allocator that holds tensors: each byte has one owner.
#include "tools/analysis/accounts/custom_allocator_segments.h"

#include <gtest/gtest.h>

#include "tests/tools/list_source.h"
#include "tests/tools/units.h"

namespace vramstow {
namespace {

constexpr uint64_t kSegmentBase = 0x100000000;
constexpr uint64_t kOther = 0x900000000;

class OwnAllocatorHistory : public History {
 public:
  void Driver(EventKind kind, uint64_t address, uint64_t size, MemoryKind memory,
              uint64_t object = 0, uint32_t thread = 1) {
    Add({.address = address,
         .size = size,
         .object = object,
         .thread = thread,
         .device = 0,
         .call = 1,
         .library = 1,
         .kind = kind,
         .memory = memory});
  }
  void Tensor(EventKind kind, uint64_t address, uint64_t size, uint32_t thread = 1) {
    Add({.address = address,
         .size = size,
         .thread = thread,
         .device = 0,
         .call = 3,
         .kind = kind,
         .memory = MemoryKind::kDevice,
         .layer = Layer::kFramework});
  }
  // Adds the events of cuMemCreate and cuMemMap.
  void Wake(uint64_t handle, uint64_t address, uint64_t size) {
    Driver(EventKind::kAllocate, handle, size, MemoryKind::kPhysical);
    Driver(EventKind::kMap, address, size, MemoryKind::kAddressRange, handle);
  }
  void Sleep(uint64_t handle, uint64_t address, uint64_t size) {
    Driver(EventKind::kUnmap, address, size, MemoryKind::kAddressRange);
    Driver(EventKind::kFree, handle, size, MemoryKind::kPhysical);
  }
};

TEST(CustomAllocatorSegments, ABlockWithTensorsIsReservedAndTheTensorsAreAllocated) {
  OwnAllocatorHistory history;
  history.Driver(EventKind::kAllocate, kSegmentBase, 20 * kMega, MemoryKind::kDevice);
  history.Tensor(EventKind::kAllocate, kSegmentBase, 6 * kMega);
  history.Tensor(EventKind::kAllocate, kSegmentBase + 6 * kMega, 2 * kMega);
  history.Driver(EventKind::kAllocate, kOther, 3 * kMega, MemoryKind::kDevice);  // holds none
  history.Tensor(EventKind::kAllocate, kSegmentBase + 8 * kMega, kMega);
  Facts facts = history.Analyze();
  EXPECT_EQ(facts.peak.allocated_bytes, 12 * kMega);
  EXPECT_EQ(facts.peak.reserved_bytes, 23 * kMega);
  EXPECT_EQ(facts.devices.back().peak_bytes, 12 * kMega);
  EXPECT_EQ(facts.counts.allocations, 4u);
  history.Tensor(EventKind::kFree, kSegmentBase, 6 * kMega);
  history.Driver(EventKind::kFree, kSegmentBase, 0, MemoryKind::kDevice);
  facts = history.Analyze();
  EXPECT_EQ(facts.devices.back().end_reserved_bytes, 3 * kMega);
  EXPECT_EQ(facts.devices.back().end_bytes, 6 * kMega);
  EXPECT_EQ(facts.counts.frees, 1u);
}

// The driver's block of 40 MiB would be the peak if it counted as allocated. It counts as reserved,
// because it contains a tensor, so the earlier block of 30 MiB remains the peak.
TEST(CustomAllocatorSegments, ThePeakBeforeIsThePeakStill) {
  OwnAllocatorHistory history;
  history.Driver(EventKind::kAllocate, kOther, 30 * kMega, MemoryKind::kDevice);
  history.Driver(EventKind::kFree, kOther, 0, MemoryKind::kDevice);
  history.Driver(EventKind::kAllocate, kSegmentBase, 40 * kMega, MemoryKind::kDevice);
  history.Tensor(EventKind::kAllocate, kSegmentBase, 2 * kMega);
  const Facts facts = history.Analyze();
  EXPECT_EQ(facts.peak.allocated_bytes, 30 * kMega);
  EXPECT_EQ(facts.devices.back().peak_bytes, 30 * kMega);
  EXPECT_EQ(facts.peak.reserved_bytes, 40 * kMega);
  ASSERT_EQ(facts.largest_at_peak.size(), 1u);
  EXPECT_EQ(facts.largest_at_peak.front().size, 30 * kMega);
}

TEST(CustomAllocatorSegments, ATensorOfAnotherThreadElsewhereTellsNothing) {
  OwnAllocatorHistory history;
  history.Driver(EventKind::kAllocate, kSegmentBase, 20 * kMega, MemoryKind::kDevice);
  history.Tensor(EventKind::kAllocate, kOther, kMega, 2);
  history.Tensor(EventKind::kAllocate, kSegmentBase, kMega);
  EXPECT_EQ(history.Analyze().peak.allocated_bytes, 21 * kMega);
  EXPECT_EQ(history.Analyze().devices.back().end_bytes, 2 * kMega);
}

TEST(CustomAllocatorSegments, MappedMemoryHoldsTensorsAgainAfterItWasAway) {
  OwnAllocatorHistory history;
  history.Driver(EventKind::kReserve, kSegmentBase, 64 * kMega, MemoryKind::kAddressRange);
  history.Wake(7, kSegmentBase, 20 * kMega);
  history.Tensor(EventKind::kAllocate, kSegmentBase, 12 * kMega);
  history.Sleep(7, kSegmentBase, 20 * kMega);
  EXPECT_EQ(history.Analyze().devices.back().end_reserved_bytes, 0u);
  history.Wake(8, kSegmentBase, 20 * kMega);
  const Facts facts = history.Analyze();
  EXPECT_EQ(facts.peak.allocated_bytes, 12 * kMega);
  EXPECT_EQ(facts.peak.reserved_bytes, 20 * kMega);
  EXPECT_EQ(facts.counts.allocations, 1u);
  EXPECT_EQ(facts.live.device.bytes, 12 * kMega);
}

TEST(CustomAllocatorSegments, ARefusedFreeLeavesItReserved) {
  OwnAllocatorHistory history;
  history.Driver(EventKind::kAllocate, kSegmentBase, 20 * kMega, MemoryKind::kDevice);
  history.Tensor(EventKind::kAllocate, kSegmentBase, 6 * kMega);
  const uint64_t free = history.Add({.address = kSegmentBase,
                                     .thread = 1,
                                     .device = 0,
                                     .call = 1,
                                     .library = 1,
                                     .kind = EventKind::kFree,
                                     .memory = MemoryKind::kDevice});
  Event refused = {.thread = 1, .device = 0, .call = 1, .library = 1, .kind = EventKind::kRefused};
  refused.object = free;
  history.Add(refused);
  const Facts facts = history.Analyze();
  EXPECT_EQ(facts.devices.back().end_reserved_bytes, 20 * kMega);
  EXPECT_EQ(facts.devices.back().end_bytes, 6 * kMega);
  EXPECT_EQ(facts.counts.frees, 0u);
}

}  // namespace
}  // namespace vramstow
