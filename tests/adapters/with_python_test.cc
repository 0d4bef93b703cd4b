// Tests how long a census (a reference scan) waits for Python's lock. This file simulates Python
// and a slow start of threads.
#include "adapters/torch/census/with_python.h"

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <pthread.h>

#include <atomic>
#include <thread>

#include "adapters/torch/census/interpreter.h"

namespace vramstow::torch_census {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kPatience(300);
constexpr milliseconds kLonger(900);

std::atomic<bool> threads_are_late{false};
std::atomic<bool> lock_is_held{false};
std::atomic<int> running_threads{0};
std::atomic<bool> had_second_interpreter{false};  // PyGILState_Check is then always 1

struct Work {
  void* (*run)(void*);
  void* argument;
};
void* RunAndCount(void* argument) {
  const Work work = *static_cast<Work*>(argument);
  delete static_cast<Work*>(argument);
  if (threads_are_late) std::this_thread::sleep_for(kLonger);
  void* const result = work.run(work.argument);
  --running_threads;
  return result;
}

}  // namespace

bool Interpreter::is_ending() { return false; }

extern "C" {
PyThreadState* PyGILState_GetThisThreadState() {
  static char state;
  return had_second_interpreter ? reinterpret_cast<PyThreadState*>(&state) : nullptr;
}
int PyGILState_Check() { return had_second_interpreter ? 1 : 0; }
PyThreadState* _PyThreadState_UncheckedGet() { return nullptr; }
int PyGILState_Ensure() {
  while (lock_is_held) std::this_thread::sleep_for(milliseconds(1));
  return 0;
}
void PyGILState_Release(int) {}

// Starts a thread, with a delay if threads_are_late, as if other processes used the processors.
int pthread_create(pthread_t* thread, const pthread_attr_t* attributes, void* (*run)(void*),
                   void* argument) noexcept {
  static const auto create =
      reinterpret_cast<decltype(&pthread_create)>(dlsym(RTLD_NEXT, "pthread_create"));
  ++running_threads;
  return create(thread, attributes, &RunAndCount, new Work{run, argument});
}
}

namespace {

class WithPythonTest : public testing::Test {
 protected:
  void TearDown() override {
    threads_are_late = false;
    lock_is_held = false;
    // Threads that were given up end.
    while (running_threads != 0) std::this_thread::sleep_for(milliseconds(1));
  }
};

TEST_F(WithPythonTest, WaitsForAThreadThatStartsLate) {
  threads_are_late = true;
  constexpr int kTries = 20;  // a busy machine may start a thread even later than is allowed
  bool ran = false;
  bool succeeded = false;
  for (int i = 0; i < kTries && !succeeded; ++i) {
    succeeded = WithPython(kPatience, [&] { ran = true; });
    EXPECT_EQ(ran, succeeded);
  }
  EXPECT_TRUE(succeeded);
}

TEST_F(WithPythonTest, GivesUpALockThatIsHeld) {
  lock_is_held = true;
  bool ran = false;
  EXPECT_FALSE(WithPython(kPatience, [&] { ran = true; }));
  EXPECT_FALSE(ran);
}

TEST_F(WithPythonTest, GetsTheLockAlsoWherePythonClaimsThatEachThreadHasIt) {
  had_second_interpreter = true;
  std::thread::id where = std::this_thread::get_id();
  // The thread that has the lock may start late on a busy machine.
  for (int i = 0; i < 20 && where == std::this_thread::get_id(); ++i) {
    WithPython(kPatience, [&] { where = std::this_thread::get_id(); });
  }
  had_second_interpreter = false;
  EXPECT_NE(where, std::this_thread::get_id());
}

}  // namespace
}  // namespace vramstow::torch_census
