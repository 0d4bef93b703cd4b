// Tests the deadline of a census (a reference scan): only time during which the thread has a
// processor counts. This program defines its own clock_gettime, whose clocks the test sets, so that
// the result does not depend on how busy the machine is.
#include "adapters/torch/census/deadline.h"

#include <gtest/gtest.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>

namespace {

std::atomic<uint64_t> g_worked_ns{0};
std::atomic<uint64_t> g_now_ns{0};

}  // namespace

extern "C" int clock_gettime(clockid_t clock, timespec* time) noexcept {
  if (clock != CLOCK_MONOTONIC && clock != CLOCK_THREAD_CPUTIME_ID) {
    return static_cast<int>(syscall(SYS_clock_gettime, clock, time));
  }
  const uint64_t ns = clock == CLOCK_MONOTONIC ? g_now_ns : g_worked_ns;
  time->tv_sec = static_cast<time_t>(ns / 1'000'000'000);
  time->tv_nsec = static_cast<long>(ns % 1'000'000'000);
  return 0;
}

namespace vramstow::torch_census {
namespace {

constexpr uint64_t kMillisecond = 1'000'000;

// Other threads and processes have the processor for this time.
void Wait(uint64_t ns) { g_now_ns += ns; }

void Work(uint64_t ns) {
  g_worked_ns += ns;
  g_now_ns += ns;
}

TEST(Deadline, IsNotOverWhileOthersHaveTheProcessor) {
  constexpr uint64_t kWork = 500 * kMillisecond;
  const Deadline deadline(kWork);
  Wait(kWork * Deadline::kLongestPerWork);
  EXPECT_FALSE(deadline.is_over());
}

TEST(Deadline, IsOverAfterItsWork) {
  const Deadline deadline(30 * kMillisecond);
  const Deadline later(deadline, 1000 * kMillisecond);
  EXPECT_FALSE(deadline.is_over());
  Work(31 * kMillisecond);
  EXPECT_TRUE(deadline.is_over());
  EXPECT_FALSE(later.is_over());
}

TEST(Deadline, EndsByTheClock) {
  constexpr uint64_t kWork = 20 * kMillisecond;
  const Deadline deadline(kWork);
  Wait(kWork * Deadline::kLongestPerWork + 1);
  EXPECT_TRUE(deadline.is_over());
}

}  // namespace
}  // namespace vramstow::torch_census
