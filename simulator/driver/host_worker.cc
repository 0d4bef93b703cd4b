#include "simulator/driver/host_worker.h"

#include <pthread.h>
#include <signal.h>

#include <chrono>

namespace vramstow::simulator {
namespace {

// If the application makes no call for this time, the worker threads advance the clock.
constexpr std::chrono::nanoseconds kSilence = std::chrono::microseconds(200);
// A host function that runs this long may be waiting for a host function of another stream (for
// example two ranks of a collective in one process). After this time host functions of other
// streams run in parallel.
constexpr std::chrono::nanoseconds kBlocked = std::chrono::milliseconds(5);
constexpr int kMaxWorkers = 64;

using Clock = std::chrono::steady_clock;

// The counts of worker threads. Guarded by the driver's lock.
struct Workers {
  int started = 0;
  int running = 0;  // threads, each of which runs one host function
  Clock::time_point latest;
};

Workers& TheWorkers() {
  static Workers workers;
  return workers;
}

void* RunHostWorker(void* argument);

// Starts a worker thread with all signals blocked, because signals belong to the application.
// Returns false if the system gives no more threads.
bool StartWorker() {
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  pthread_t thread;
  const bool started = pthread_create(&thread, nullptr, RunHostWorker, nullptr) == 0;
  if (started) pthread_detach(thread);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (started) ++TheWorkers().started;
  return started;
}

void RunOne(DriverGlobals* globals, const Timeline::HostWork& item)
    VRAMSTOW_REQUIRES(globals->mutex) {
  Workers& workers = TheWorkers();
  ++workers.running;
  workers.latest = Clock::now();
  if (workers.running == workers.started && workers.started < kMaxWorkers) StartWorker();
  globals->mutex.Unlock();
  item.work->Run(0);
  globals->mutex.Lock();
  --workers.running;
  globals->state().machine->timeline.FinishHostWork(item.queue);
  globals->changed.NotifyAll();
}

Timeline::HostWork PopWork(State* state) {
  const Workers& workers = TheWorkers();
  if (workers.running > 0 && Clock::now() - workers.latest < kBlocked) return {};
  return state->machine->timeline.PopHostWork();
}

void* RunHostWorker(void* /*argument*/) {
  DriverGlobals& globals = Globals();
  const MutexLock lock(&globals.mutex);
  State* state = &globals.state();
  Timeline& timeline = state->machine->timeline;
  uint64_t calls = state->calls;
  while (!globals.shut_down) {
    const Timeline::HostWork item = PopWork(state);
    if (item.work != nullptr) {
      RunOne(&globals, item);
    } else if (timeline.pending_host_work() == 0) {
      globals.changed.Wait(&globals.mutex);
    } else {
      const bool busy = TheWorkers().running > 0;
      const std::chrono::nanoseconds pause = busy ? kBlocked / 2 : kSilence;
      globals.changed.WaitFor(&globals.mutex, static_cast<uint64_t>(pause.count()));
      if (state->calls == calls) timeline.Step();
      calls = state->calls;
    }
  }
  return nullptr;
}

}  // namespace

void WakeHostWorker() {
  if (TheWorkers().started == 0) StartWorker();
  Globals().changed.NotifyAll();
}

void HostFunction::Run(uint64_t /*time_ns*/) {
  CurrentThread().inside_callback = true;
  function_();
  CurrentThread().inside_callback = false;
}

}  // namespace vramstow::simulator
