// Tests that a forked child never changes the parent's trace, and can have its own trace.
#include <gtest/gtest.h>
#include <pthread.h>
#include <signal.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "tests/tracer/support.h"
#include "tracer/recorder.h"

namespace vramstow {
namespace {

// Runs `what` in a forked child. Returns 0 if `what` returned true.
int InChild(const std::function<bool()>& what) {
  const pid_t child = fork();
  if (child == 0) _exit(what() ? 0 : 1);
  int status = -1;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  return status;
}

void RecordSome(Recorder* recorder, uint64_t address, int count) {
  for (int i = 0; i < count; ++i) recorder->Record(Allocation(address, 512));
}

void ExpectOnly(const std::string& file, uint64_t address, size_t count) {
  const ReadTrace trace = ReadFile(file);
  ASSERT_EQ(trace.error, ReadError::kOk);
  EXPECT_EQ(trace.events.size(), count);
  for (const Event& event : trace.events) ASSERT_EQ(event.address, address);
  EXPECT_EQ(trace.report.damaged_bytes, 0u);
  EXPECT_EQ(trace.report.missing_events, 0u);
  EXPECT_EQ(trace.facts.count("child"), 0u);
}

TEST(ForkTest, TheChildWritesItsOwnFileAndLeavesTheParentsAlone) {
  TestRecorder recorder;
  RecordSome(&*recorder, 0x1000, 30000);
  const int status = InChild([&] {
    recorder->AbandonAfterFork();
    if (recorder->is_open() || recorder->Record(Allocation(0x2000, 512)) != 0) return false;
    RecordSome(&*recorder, 0x2000, 1000);
    const std::string folder = recorder.folder();
    if (recorder->Open({folder.c_str(), "child", TestThreadSlot}) != RecorderError::kOk) {
      return false;
    }
    recorder->Describe("child", "yes");
    RecordSome(&*recorder, 0x3000, 30000);
    std::thread([&] { RecordSome(&*recorder, 0x3000, 10); }).join();
    recorder->Close();
    return true;
  });
  EXPECT_EQ(status, 0);
  RecordSome(&*recorder, 0x1000, 30000);
  recorder->Close();
  ExpectOnly(recorder.File(), 0x1000, 60000);
  const ReadTrace of_child = ReadFile(recorder.folder() + "/child.stow");
  EXPECT_EQ(of_child.events.size(), 30010u);
  EXPECT_EQ(of_child.events.front().address, 0x3000u);
  EXPECT_EQ(of_child.facts.at("child"), "yes");
}

TEST(ForkTest, AChildOfWhichNobodyToldTheRecorderRecordsNothing) {
  TestRecorder recorder;
  RecordSome(&*recorder, 0x1000, 10);
  const int status = InChild([&] {
    // These events would fill a chunk if the child could record.
    for (int i = 0; i < 30000; ++i) {
      if (recorder->Record(Allocation(0x2000, 512)) != 0) return false;
    }
    recorder->Describe("child", "yes");
    if (recorder->InternCall("child") != kUnknownName) return false;
    bool other = false;
    std::thread([&] { other = recorder->Record(Allocation(0x2000, 512)) == 0; }).join();
    recorder->Close();
    return other;
  });
  EXPECT_EQ(status, 0);
  RecordSome(&*recorder, 0x1000, 10);
  recorder->Close();
  ExpectOnly(recorder.File(), 0x1000, 20);
}

TEST(ForkTest, ForksWhileOtherThreadsRecordAndComeAndGo) {
  TestRecorder recorder;
  std::atomic<bool> stop{false};
  std::atomic<uint64_t> recorded{0};
  std::vector<std::thread> threads;
  threads.emplace_back([&] {
    while (!stop) {
      RecordSome(&*recorder, 0x1000, 10);
      recorded += 10;
    }
  });
  threads.emplace_back([&] {
    while (!stop) {
      // Each of these threads locks the recorder's mutex twice: when it starts and when it ends.
      std::thread([&] { RecordSome(&*recorder, 0x1000, 1); }).join();
      ++recorded;
    }
  });
  for (int i = 0; i < 50; ++i) {
    // The child must not use the heap, because another thread may have held its lock during the
    // fork.
    const std::string stem = "child-" + std::to_string(i);
    const RecorderConfig config = {recorder.folder().c_str(), stem.c_str(), TestThreadSlot};
    const int status = InChild([&] {
      recorder->AbandonAfterFork();
      if (recorder->Open(config) != RecorderError::kOk) {
        return false;
      }
      RecordSome(&*recorder, 0x2000, 100);
      recorder->Close();
      return true;
    });
    ASSERT_EQ(status, 0);
  }
  stop = true;
  JoinAll(&threads);
  recorder->Close();
  ExpectOnly(recorder.File(), 0x1000, recorded.load());
  for (int i = 0; i < 50; ++i) {
    ExpectOnly(recorder.folder() + "/child-" + std::to_string(i) + ".stow", 0x2000, 100);
  }
}

Recorder* g_recorder = nullptr;
std::atomic<int> g_forks{0};
std::atomic<int> g_bad_children{0};

// Forks in a signal handler, in the middle of any work of the thread. The child continues that
// work.
void ForkInHandler(int) {
  const pid_t child = fork();
  if (child == 0) {
    g_recorder->AbandonAfterFork();
    g_forks = -1;  // continues with the interrupted Record
    return;
  }
  int status;
  if (waitpid(child, &status, 0) != child || status != 0) ++g_bad_children;
  ++g_forks;
}

TEST(ForkTest, AForkInASignalHandlerInTheMiddleOfRecordDoesNotSpoilTheParentsFile) {
  TestRecorder recorder;
  g_recorder = &*recorder;
  g_forks = 0;
  g_bad_children = 0;
  struct sigaction action = {};
  action.sa_handler = ForkInHandler;
  action.sa_flags = SA_RESTART;
  struct sigaction before;
  sigaction(SIGALRM, &action, &before);
  size_t recorded = 0;
  constexpr int kForks = 200;
  for (int armed = 0; g_forks < kForks;) {
    // The last signal may arrive between the two reads of `g_forks`. Without the second condition
    // one more signal would be requested, which nothing handles after the loop.
    if (armed == g_forks && armed < kForks) {
      const itimerval soon = {{0, 0}, {0, 20 + 7 * (armed % 50)}};
      setitimer(ITIMER_REAL, &soon, nullptr);  // children do not inherit it
      ++armed;
    }
    recorder->Record(Allocation(0x1000, 512));
    ++recorded;
    if (g_forks < 0) {
      for (int i = 0; i < 20000; ++i) recorder->Record(Allocation(0x2000, 512));
      _exit(0);
    }
  }
  sigaction(SIGALRM, &before, nullptr);
  EXPECT_EQ(g_bad_children, 0);
  recorder->Close();
  ExpectOnly(recorder.File(), 0x1000, recorded);
}

}  // namespace
}  // namespace vramstow
