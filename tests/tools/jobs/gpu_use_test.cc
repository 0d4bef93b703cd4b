// Tests what the processes of a job took of each GPU.
#include "tools/jobs/gpu_use.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

#include "base/units.h"

namespace vramstow {
namespace {

using testing::ElementsAre;
using testing::SizeIs;

constexpr uint64_t kSecond = 1'000'000'000;

// A process of a second that reserved so much of its device 0.
Facts Process(const std::string& uuid, uint64_t reserved, std::optional<uint64_t> free_at_start) {
  Facts facts;
  facts.trace_metadata = {{"process.host", "here"}, {"device.0.uuid", uuid}};
  facts.end_ns = kSecond;
  DeviceFacts device;
  device.device = 0;
  device.total_bytes = 8 * kGiB;
  device.free_bytes_at_start = free_at_start;
  device.peak_reserved_bytes = reserved;
  facts.devices = {device};
  return facts;
}

TEST(GpuUse, ProcessesOfOneGpuAreAddedUpWithAContextEach) {
  const auto uses = GpusUsedBy({Process("a", kGiB, 7 * kGiB), Process("b", 4 * kGiB, 7 * kGiB),
                                // When this process began, the first one had its memory already.
                                Process("a", 2 * kGiB, 6 * kGiB)},
                               {10 * kSecond, 10 * kSecond, 10 * kSecond + 1});
  ASSERT_THAT(uses, SizeIs(2));
  EXPECT_EQ(uses[0].reserved_bytes, 3 * kGiB);
  EXPECT_EQ(uses[0].context_bytes, 2 * kGiB);
  EXPECT_EQ(uses[0].processes, 2u);
  EXPECT_THAT(uses[0].traces, ElementsAre(2, 0));
  EXPECT_EQ(uses[1].taken_bytes(), 5 * kGiB);
  EXPECT_EQ(uses[1].processes, 1u);
}

TEST(GpuUse, ProcessesThatDidNotLiveAtTheSameTimeAreNotAddedUp) {
  const auto uses = GpusUsedBy(
      {Process("a", kGiB, 7 * kGiB), Process("a", 2 * kGiB, 7 * kGiB), Process("a", kGiB, {})},
      {10 * kSecond, 12 * kSecond, 14 * kSecond});
  ASSERT_THAT(uses, SizeIs(1));
  EXPECT_EQ(uses[0].taken_bytes(), 3 * kGiB);
  EXPECT_EQ(uses[0].processes, 1u);
}

TEST(GpuUse, AProcessLivesAfterItsLastEventIfALaterOneFindsItsMemory) {
  const auto uses = GpusUsedBy({Process("a", kGiB, 7 * kGiB), Process("a", 2 * kGiB, 5 * kGiB)},
                               {10 * kSecond, 20 * kSecond});
  ASSERT_THAT(uses, SizeIs(1));
  EXPECT_EQ(uses[0].taken_bytes(), 5 * kGiB);
  EXPECT_EQ(uses[0].processes, 2u);
}

TEST(GpuUse, AGpuOfWhichNothingWasUsedIsLeftOut) {
  EXPECT_THAT(GpusUsedBy({Process("a", 0, {})}, {0}), SizeIs(0));
}

}  // namespace
}  // namespace vramstow
