// Tests that times in a trace increase, whatever the system's clocks are set to. This program
// defines its own clock_gettime, which adds an offset to the kernel's time.
#include <gtest/gtest.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "tests/tracer/support.h"
#include "tracer/recorder.h"

namespace {

std::atomic<int64_t> g_realtime_step_s{0};
std::atomic<int64_t> g_monotonic_step_ns{0};

}  // namespace

extern "C" int clock_gettime(clockid_t clock, timespec* time) noexcept {
  const long result = syscall(SYS_clock_gettime, clock, time);
  if (clock == CLOCK_REALTIME) time->tv_sec += g_realtime_step_s;
  if (clock == CLOCK_MONOTONIC) {
    const int64_t ns = time->tv_sec * 1'000'000'000 + time->tv_nsec + g_monotonic_step_ns;
    time->tv_sec = ns / 1'000'000'000;
    time->tv_nsec = ns % 1'000'000'000;
  }
  return static_cast<int>(result);
}

namespace vramstow {
namespace {

class ClockSteps : public testing::TestWithParam<OrderSource> {
 protected:
  void TearDown() override { g_realtime_step_s = g_monotonic_step_ns = 0; }

  // Records for some 120 ms while `step` is called from time to time. The trace's times must
  // increase, and end at the right time within `slack_ns`.
  static void RecordWhile(void (*step)(int), uint64_t slack_ns) {
    // `begin` is a little earlier than the recorder's own time 0.
    const auto begin = std::chrono::steady_clock::now();
    TestRecorder recorder("test", GetParam());
    for (int i = 0; i < 1200; ++i) {
      recorder->Record(Allocation(0x1000, 512));
      if (i % 100 == 50) step(i / 100);
      if (i % 10 == 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    step(0);
    const auto elapsed = std::chrono::steady_clock::now() - begin;
    recorder->Close();
    const ReadTrace trace = ReadFile(recorder.File());
    ASSERT_EQ(trace.events.size(), 1200u);
    EXPECT_EQ(trace.report.damaged_bytes, 0u);
    for (size_t i = 1; i < trace.events.size(); ++i) {
      ASSERT_GE(trace.events[i].time_ns, trace.events[i - 1].time_ns);
      ASSERT_GT(trace.events[i].sequence, trace.events[i - 1].sequence);
    }
    const auto elapsed_ns = static_cast<uint64_t>(
        std::chrono::duration_cast<std::chrono::nanoseconds>(elapsed).count());
    EXPECT_LE(trace.events.back().time_ns, elapsed_ns + slack_ns);
    EXPECT_GE(trace.events.back().time_ns - trace.events.front().time_ns + slack_ns, 119'000'000u);
  }
};
INSTANTIATE_TEST_SUITE_P(Orders, ClockSteps,
                         testing::Values(OrderSource::kBest, OrderSource::kNumbers),
                         [](const auto& order) {
                           return order.param == OrderSource::kBest ? "Best" : "Numbers";
                         });

TEST_P(ClockSteps, SomebodySetsTheTime) {
  RecordWhile([](int i) { g_realtime_step_s = i % 2 == 0 ? 0 : 86400 * 365 * (i % 4 - 2); },
              1'000'000);
}

// The monotonic clock goes back by some milliseconds. This must not happen, but users of some
// virtual machines report it.
TEST_P(ClockSteps, TheMonotonicClockGoesBack) {
  RecordWhile([](int i) { g_monotonic_step_ns = -4'000'000 * (i % 3); }, 100'000'000);
}

}  // namespace
}  // namespace vramstow
