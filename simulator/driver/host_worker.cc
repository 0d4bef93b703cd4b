#include "simulator/driver/host_worker.h"

#include <pthread.h>
#include <signal.h>

#include <chrono>

namespace vramstow::simulator {
namespace {

// How long the application may be silent before the clock moves on without it.
constexpr auto kSilence = std::chrono::microseconds(200);
// A host function that takes this long may be waiting for one of another stream (two ranks of a
// collective in one process do): from then on the others' turn comes beside it.
constexpr auto kBlocked = std::chrono::milliseconds(5);
constexpr int kMostWorkers = 64;

using Clock = std::chrono::steady_clock;

// Guarded by the driver's lock.
struct Workers {
  int started = 0;
  int running = 0;  // a host function each
  Clock::time_point latest;
};

Workers& TheWorkers() {
  static Workers workers;
  return workers;
}

void* RunHostWorker(void* argument);

// False: the system gives no more threads. Signals are the application's.
bool StartWorker(State* state) {
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  pthread_t thread;
  const bool started = pthread_create(&thread, nullptr, RunHostWorker, state) == 0;
  if (started) pthread_detach(thread);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (started) ++TheWorkers().started;
  return started;
}

void RunOne(State* state, std::unique_lock<std::mutex>* lock, const Timeline::HostWork& item) {
  Workers& workers = TheWorkers();
  ++workers.running;
  workers.latest = Clock::now();
  if (workers.running == workers.started && workers.started < kMostWorkers) StartWorker(state);
  lock->unlock();
  item.work->Run(0);
  lock->lock();
  --workers.running;
  state->machine->timeline.FinishHostWork(item.queue);
  state->changed.notify_all();
}

Timeline::HostWork TakeWork(State* state) {
  const Workers& workers = TheWorkers();
  if (workers.running > 0 && Clock::now() - workers.latest < kBlocked) return {};
  return state->machine->timeline.TakeHostWork();
}

void* RunHostWorker(void* argument) {
  State* state = static_cast<State*>(argument);
  Timeline& timeline = state->machine->timeline;
  std::unique_lock<std::mutex> lock(state->mutex);
  uint64_t calls = state->calls;
  while (!state->shut_down) {
    const Timeline::HostWork item = TakeWork(state);
    if (item.work != nullptr) {
      RunOne(state, &lock, item);
    } else if (timeline.pending_host_work() == 0) {
      state->changed.wait(lock);
    } else {
      const bool busy = TheWorkers().running > 0;
      const auto pause = busy ? std::chrono::microseconds(kBlocked) / 2 : kSilence;
      state->changed.wait_until(lock, std::chrono::system_clock::now() + pause);
      if (state->calls == calls) timeline.Step();
      calls = state->calls;
    }
  }
  return nullptr;
}

}  // namespace

void WakeHostWorker(State* state) {
  if (TheWorkers().started == 0) StartWorker(state);
  state->changed.notify_all();
}

void HostFunction::Run(uint64_t /*time_ns*/) {
  CurrentThread().inside_callback = true;
  function_();
  CurrentThread().inside_callback = false;
}

}  // namespace vramstow::simulator
