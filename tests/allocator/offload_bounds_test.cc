// Tests that offload does not wait without end, and that it respects the limits of host memory.
#include "tests/allocator/offload_fixture.h"

namespace vramstow {
namespace {

TEST_F(OffloadTest, WhatComesBackIsNotWaitedForOnceTheProcessEnds) {
  work_wait_ns_ = 5'000'000'000;
  Start(32 * kMiB);
  const uint64_t first = Take(14 * kMiB);
  Take(14 * kMiB);
  const uint64_t third = Take(14 * kMiB);
  ASSERT_TRUE(device_->OnHost(first));
  device_->Advance(1'000'000'000);
  Give(third);
  pool_->Trim({});
  for (int k = 0; k < 64; ++k) offloader_.Tick();
  offloader_.Touch(first);
  device_->Submit(1, first, kMiB);  // work that does not end
  int pauses = 0;
  device_->set_on_pause([&] {
    if (++pauses == 3) offloader_.StopBringingBack();
  });
  const DriverTable* table = device_->table();
  const uint64_t since = table->now(table->self);
  EXPECT_EQ(offloader_.BringBack(kGiB), 0U);
  EXPECT_LT(table->now(table->self) - since, 2 * Standstill::kHearingNs);
  EXPECT_GE(pauses, 3);
  device_->set_on_pause(nullptr);
  device_->FinishAll();
  EXPECT_EQ(offloader_.BringBack(kGiB), 0U) << "the process ends still";
  ExpectContents();
}

TEST_F(OffloadTest, WithoutSuchAWordItIsWaitedForAsLongAsAllowed) {
  work_wait_ns_ = 100'000'000;
  Start(64 * kMiB);
  const uint64_t block = Take(14 * kMiB);
  device_->Submit(1, block, kMiB);
  const DriverTable* table = device_->table();
  const uint64_t since = table->now(table->self);
  uint64_t moved = 0;
  EXPECT_EQ(offloader_.Offload(0, &moved), OffloadResult::kBusy);
  EXPECT_GE(table->now(table->self) - since, work_wait_ns_);
  // Memory moves if the work finishes during the wait, even if that takes longer than the interval
  // at which the wait checks for a stop.
  uint64_t ended = table->now(table->self) + 5 * Standstill::kHearingNs;
  device_->set_on_pause([&] {
    if (table->now(table->self) > ended) device_->FinishAll();
  });
  EXPECT_EQ(offloader_.Offload(0, &moved), OffloadResult::kDone);
  EXPECT_GT(moved, 0U);
  device_->set_on_pause(nullptr);
}

TEST_F(OffloadTest, AWaitEndsWhereTheCardsClockStandsStillAndGatesAreMeasuredByThatClock) {
  work_wait_ns_ = 100'000'000;
  Start(64 * kMiB, kGiB, [](DriverTable* table) {
    table->wait_clock = table->now;
    table->now = [](void*) { return uint64_t{1'000'000}; };
  });
  const uint64_t block = Take(14 * kMiB);
  device_->Submit(1, block, kMiB);
  const DriverTable* real = device_->table();
  const uint64_t since = real->now(real->self);
  uint64_t moved = 0;
  EXPECT_EQ(offloader_.Offload(0, &moved), OffloadResult::kBusy);
  EXPECT_GE(real->now(real->self) - since, work_wait_ns_);
  device_->FinishAll();
  EXPECT_EQ(offloader_.Offload(0, &moved), OffloadResult::kDone);
  EXPECT_GT(moved, 0U);
  EXPECT_GT(offloader_.Stats().gate_closed, 0U);
  EXPECT_EQ(offloader_.Stats().gate_ns, 0U);
}

TEST_F(OffloadTest, NoMoreHostMemoryIsMappedThanTheProcessMayMap) {
  config_.host_mappings = 4;
  Start(64 * kMiB);
  Take(14 * kMiB);
  uint64_t moved = 0;
  EXPECT_EQ(offloader_.Offload(0, &moved), OffloadResult::kNoRoom);
  EXPECT_EQ(moved, 8 * kMiB);
  EXPECT_EQ(device_->host_bytes(), 8 * kMiB);
  EXPECT_TRUE(offloader_.Stats().mappings_used_up);
  // Host memory that was released can be used again.
  EXPECT_EQ(offloader_.Resume(0, ~uint64_t{0}, &moved), OffloadResult::kDone);
  EXPECT_EQ(offloader_.Offload(0, &moved), OffloadResult::kNoRoom);
  EXPECT_EQ(moved, 8 * kMiB);
  // A pause maps no host memory, so it works although no mapping of host memory is left.
  EXPECT_EQ(offloader_.Pause(0, {.keep = true}, &moved), OffloadResult::kDone);
  EXPECT_EQ(offloader_.Resume(0, ~uint64_t{0}, &moved), OffloadResult::kDone);
  ExpectContents();
}

TEST_F(OffloadTest, WithinTheMappingsNothingIsSaid) {
  config_.host_mappings = 7;
  Start(64 * kMiB);
  Take(14 * kMiB);
  uint64_t moved = 0;
  EXPECT_EQ(offloader_.Offload(0, &moved), OffloadResult::kDone);
  EXPECT_EQ(moved, 14 * kMiB);
  EXPECT_FALSE(offloader_.Stats().mappings_used_up);
}

}  // namespace
}  // namespace vramstow
