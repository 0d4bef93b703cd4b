#include "adapters/torch/census/with_python.h"

#include <pthread.h>

#include <condition_variable>
#include <csignal>
#include <exception>
#include <memory>
#include <mutex>
#include <utility>

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

// The longest time that may pass until a new thread runs. While other processes use the processors,
// this can take longer than a thread usually holds a lock.
constexpr std::chrono::milliseconds kLongestStart(2000);

// Work that another thread does for a waiting thread.
class CrossThreadCall {
 public:
  explicit CrossThreadCall(std::function<void()> run) : run_(std::move(run)) {}

  // Called by the other thread when it runs, before it asks for Python's lock.
  void Arrive() {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (state_ != State::kWaits) return;
    state_ = State::kArrived;
    changed_.notify_all();
  }
  // Called by the other thread when it holds Python's lock; does the work.
  void Do() {
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      if (state_ == State::kGivenUp) return;  // objects of `run_` may have been destroyed
      state_ = State::kRuns;
      changed_.notify_all();
    }
    const bool done = Run(run_);
    const std::lock_guard<std::mutex> lock(mutex_);
    state_ = done ? State::kDone : State::kFailed;
    changed_.notify_all();
  }

  // Waits until the work has begun. `patience` is the time to wait until the holder of Python's
  // lock releases it. Returns false if the work did not begin in time; in this case it never
  // begins.
  bool WaitForBegin(std::chrono::milliseconds patience) {
    std::unique_lock<std::mutex> lock(mutex_);
    changed_.wait_for(lock, kLongestStart, [this] { return state_ != State::kWaits; });
    const auto has_begun = [this] { return state_ != State::kWaits && state_ != State::kArrived; };
    if (changed_.wait_for(lock, patience, has_begun)) return true;
    state_ = State::kGivenUp;
    return false;
  }
  // Waits until the work has ended. Returns true if it succeeded.
  bool WaitForEnd() {
    std::unique_lock<std::mutex> lock(mutex_);
    changed_.wait(lock, [this] { return has_ended(); });
    return state_ == State::kDone;
  }
  // Waits until the work has ended. Returns false if it is still running.
  bool WaitForEnd(std::chrono::milliseconds longest) {
    std::unique_lock<std::mutex> lock(mutex_);
    return changed_.wait_for(lock, longest, [this] { return has_ended(); });
  }

 private:
  enum class State : uint8_t { kWaits, kArrived, kRuns, kDone, kFailed, kGivenUp };
  bool has_ended() const { return state_ == State::kDone || state_ == State::kFailed; }

  const std::function<void()> run_;
  std::mutex mutex_;
  std::condition_variable changed_;
  State state_ = State::kWaits;
};

// Runs in the other thread. If this thread asks for Python's lock while Python ends, Python may end
// the thread.
void* RunCall(void* argument) {
  auto* call = static_cast<std::shared_ptr<CrossThreadCall>*>(argument);
  (*call)->Arrive();
  const int state = PyGILState_Ensure();
  (*call)->Do();
  PyGILState_Release(state);
  delete call;
  return nullptr;
}

// Starts a thread with all signals masked, so that it handles none of the program's signals.
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

// Returns null if no thread could be made.
std::shared_ptr<CrossThreadCall> Begin(std::function<void()> run) {
  auto call = std::make_shared<CrossThreadCall>(std::move(run));
  auto* share = new std::shared_ptr<CrossThreadCall>(call);
  if (StartThread(&RunCall, share)) return call;
  delete share;
  return nullptr;
}

}  // namespace

bool HasPythonsLock() {
  PyThreadState* mine = PyGILState_GetThisThreadState();
  if (mine == nullptr || PyGILState_Check() == 0) return false;
  if (PyThreadState_GetUnchecked != nullptr) return PyThreadState_GetUnchecked() == mine;
  return _PyThreadState_UncheckedGet != nullptr && _PyThreadState_UncheckedGet() == mine;
}

bool WithPython(std::chrono::milliseconds patience, const std::function<void()>& run) {
  if (Interpreter::is_ending()) return false;
  if (HasPythonsLock()) return Run(run);
  const auto call = Begin(run);
  return call != nullptr && call->WaitForBegin(patience) && call->WaitForEnd();
}

Asked AskPython(std::chrono::milliseconds patience, std::chrono::milliseconds longest,
                std::function<void()> run) {
  if (Interpreter::is_ending()) return Asked::kNotHad;
  const auto call = Begin(std::move(run));
  if (call == nullptr || !call->WaitForBegin(patience)) return Asked::kNotHad;
  return call->WaitForEnd(longest) ? Asked::kDone : Asked::kLeftAlone;
}

}  // namespace vramstow::torch_census
