#include "adapters/torch/census/with_python.h"

#include <pthread.h>

#include <condition_variable>
#include <csignal>
#include <exception>
#include <memory>
#include <mutex>

#include "adapters/torch/census/interpreter.h"

namespace vramstow::torch_census {
namespace {

bool Run(const std::function<void()>& run) {
  try {
    run();
    return true;
  } catch (const std::exception&) {
    return false;  // no memory on the host
  }
}

// What another thread does for the one that asks.
class Errand {
 public:
  explicit Errand(const std::function<void()>& run) : run_(run) {}

  // The other thread has Python's lock.
  void Do() {
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      if (state_ == State::kGivenUp) return;  // and `run_` is gone
      state_ = State::kRuns;
      changed_.notify_all();
    }
    const bool done = Run(run_);
    const std::lock_guard<std::mutex> lock(mutex_);
    state_ = done ? State::kDone : State::kFailed;
    changed_.notify_all();
  }

  bool Wait(std::chrono::milliseconds patience) {
    std::unique_lock<std::mutex> lock(mutex_);
    if (!changed_.wait_for(lock, patience, [this] { return state_ != State::kWaits; })) {
      state_ = State::kGivenUp;
      return false;
    }
    changed_.wait(lock, [this] { return state_ == State::kDone || state_ == State::kFailed; });
    return state_ == State::kDone;
  }

 private:
  enum class State : uint8_t { kWaits, kRuns, kDone, kFailed, kGivenUp };

  const std::function<void()>& run_;
  std::mutex mutex_;
  std::condition_variable changed_;
  State state_ = State::kWaits;
};

// Python may end the thread where it asks for the lock, while Python itself ends.
void* DoErrand(void* argument) {
  auto* errand = static_cast<std::shared_ptr<Errand>*>(argument);
  const int state = PyGILState_Ensure();
  (*errand)->Do();
  PyGILState_Release(state);
  delete errand;
  return nullptr;
}

// No signal of the program's is handled by a thread of ours.
bool StartThread(void* (*run)(void*), void* argument) {
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  pthread_t thread;
  const bool started = pthread_create(&thread, nullptr, run, argument) == 0;
  if (started) pthread_detach(thread);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return started;
}

}  // namespace

bool WithPython(std::chrono::milliseconds patience, const std::function<void()>& run) {
  if (Interpreter::is_ending()) return false;
  if (PyGILState_GetThisThreadState() != nullptr && PyGILState_Check() != 0) return Run(run);
  const auto errand = std::make_shared<Errand>(run);
  auto* share = new std::shared_ptr<Errand>(errand);
  if (!StartThread(&DoErrand, share)) {
    delete share;
    return false;
  }
  return errand->Wait(patience);
}

}  // namespace vramstow::torch_census
