// Tests the deadline of a census (a reference scan): only time during which the thread has a
// processor counts.
#include "adapters/torch/census/deadline.h"

#include <gtest/gtest.h>

#include <chrono>
#include <thread>

namespace vramstow::torch_census {
namespace {

constexpr uint64_t kMillisecond = 1'000'000;

void Work(uint64_t ns) {
  const uint64_t end = WorkedNs() + ns;
  while (WorkedNs() < end) {
  }
}

TEST(Deadline, IsNotOverWhileOthersHaveTheProcessor) {
  constexpr uint64_t kWork = 500 * kMillisecond;
  const Deadline deadline(kWork);
  // The sleep stands for other processes that use the processor; it is longer than the work may
  // take.
  std::this_thread::sleep_for(std::chrono::nanoseconds(kWork * 5 / 4));
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
  std::this_thread::sleep_for(std::chrono::nanoseconds(kWork * (Deadline::kLongestPerWork + 1)));
  EXPECT_TRUE(deadline.is_over());
}

}  // namespace
}  // namespace vramstow::torch_census
