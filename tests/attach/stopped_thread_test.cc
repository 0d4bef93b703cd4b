// Lets a stopped process call functions that take long: one that runs, and one that waits.
#include "tools/attach/stopped_thread.h"

#include <gtest/gtest.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <atomic>

namespace vramstow {
namespace {

pthread_mutex_t held = PTHREAD_MUTEX_INITIALIZER;

double Now() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

uint64_t Compute(uint64_t milliseconds) {
  const double end = Now() + static_cast<double>(milliseconds) * 1e-3;
  while (Now() < end) continue;
  return 42;
}

uint64_t WaitForLock() {
  pthread_mutex_lock(&held);
  return 1;
}

// A process that counts in shared memory until it is killed. It has the addresses of this one.
class Counter {
 public:
  Counter()
      : count_(static_cast<std::atomic<uint64_t>*>(mmap(nullptr, sizeof(std::atomic<uint64_t>),
                                                        PROT_READ | PROT_WRITE,
                                                        MAP_SHARED | MAP_ANONYMOUS, -1, 0))) {
    pid_ = fork();
    while (pid_ == 0) count_->fetch_add(1);
  }
  ~Counter() {
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
    munmap(count_, sizeof *count_);
  }
  Counter(const Counter&) = delete;
  Counter& operator=(const Counter&) = delete;

  pid_t pid() const { return pid_; }
  bool Counts() const {
    const uint64_t before = count_->load();
    for (int i = 0; i < 10'000 && count_->load() == before; ++i) usleep(1000);
    return count_->load() != before;
  }

 private:
  std::atomic<uint64_t>* const count_;
  pid_t pid_ = -1;
};

TEST(StoppedThreadTest, ACallThatRunsIsNotGivenUp) {
  const Counter counter;
  ASSERT_TRUE(counter.Counts());
  auto thread = StoppedThread::Stop(counter.pid());
  ASSERT_TRUE(thread.ok()) << thread.status();
  const auto result = (*thread)->Call(reinterpret_cast<uint64_t>(&Compute), {500});
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(*result, 42U);
  thread->reset();
  EXPECT_TRUE(counter.Counts());
}

TEST(StoppedThreadTest, ACallThatWaitsForALockIsGivenUpAndTheThreadGoesOn) {
  pthread_mutex_lock(&held);
  const Counter counter;
  pthread_mutex_unlock(&held);
  ASSERT_TRUE(counter.Counts());
  auto thread = StoppedThread::Stop(counter.pid());
  ASSERT_TRUE(thread.ok()) << thread.status();
  const auto result = (*thread)->Call(reinterpret_cast<uint64_t>(&WaitForLock), {});
  ASSERT_FALSE(result.ok());
  EXPECT_NE(result.status().message().find("is busy. Try again."), std::string::npos);
  EXPECT_EQ((*thread)->Call(reinterpret_cast<uint64_t>(&Compute), {1}).value_or(0), 42U);
  thread->reset();
  EXPECT_TRUE(counter.Counts());
}

}  // namespace
}  // namespace vramstow
