#include "simulator/driver/host_worker.h"

#include <pthread.h>
#include <signal.h>

#include <algorithm>
#include <chrono>
#include <utility>
#include <vector>

namespace vramstow::simulator {
namespace {

// If the application makes no call for this time, the worker threads advance the clock.
constexpr std::chrono::nanoseconds kSilence = std::chrono::microseconds(200);
// A host function that runs this long may be waiting for a host function of another stream (for
// example two ranks of a collective in one process). After this time host functions of other
// streams run in parallel.
constexpr std::chrono::nanoseconds kBlocked = std::chrono::milliseconds(5);
constexpr int kMaxWorkers = 64;
// The pauses between two rounds of polls grow from the first to the second, until a wait ends.
constexpr std::chrono::nanoseconds kShortestPoll = std::chrono::microseconds(20);
constexpr std::chrono::nanoseconds kLongestPoll = std::chrono::microseconds(500);

using Clock = std::chrono::steady_clock;

// Work that waits, and what is asked whether the wait is over.
struct Polled {
  Timeline::HostWork item;
  Work::Poll is_over;
};

// The worker threads. Guarded by the driver's lock; never destroyed.
struct Workers {
  int started = 0;
  int running = 0;  // threads, each of which runs one host function
  Clock::time_point latest;
  std::vector<Polled> polled;
  bool is_polling = false;  // the thread that polls was started
  std::chrono::nanoseconds pause = kShortestPoll;
};

Workers& TheWorkers() {
  static auto* workers = new Workers;
  return *workers;
}

void* RunHostWorker(void* argument);

// Starts a thread with all signals blocked, because signals belong to the application. Returns
// false if the system gives no more threads.
bool StartThread(void* (*body)(void*)) {
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  pthread_t thread;
  const bool started = pthread_create(&thread, nullptr, body, nullptr) == 0;
  if (started) pthread_detach(thread);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return started;
}

void StartWorker() {
  if (StartThread(RunHostWorker)) ++TheWorkers().started;
}

// Ends the work whose wait is over. Returns false if there is none.
bool EndReached(Timeline* timeline) {
  std::vector<Polled>& polled = TheWorkers().polled;
  std::vector<Polled> over;
  std::vector<Polled> rest;
  for (Polled& one : polled) (one.is_over() ? over : rest).push_back(std::move(one));
  polled = std::move(rest);
  for (const Polled& one : over) timeline->FinishHostWork(one.item.queue);
  return !over.empty();
}

void* PollHostWork(void* /*argument*/) {
  DriverGlobals& globals = Globals();
  const MutexLock lock(&globals.mutex);
  Workers& workers = TheWorkers();
  while (!globals.shut_down) {
    if (workers.polled.empty()) {
      globals.changed.Wait(&globals.mutex);
      continue;
    }
    if (EndReached(&globals.state().machine->timeline)) {
      workers.pause = kShortestPoll;
      globals.changed.NotifyAll();
    }
    globals.changed.WaitFor(&globals.mutex, static_cast<uint64_t>(workers.pause.count()));
    workers.pause = std::min(workers.pause * 2, kLongestPoll);
  }
  return nullptr;
}

void AddPolled(Timeline::HostWork item, Work::Poll is_over) {
  Workers& workers = TheWorkers();
  workers.polled.push_back({std::move(item), std::move(is_over)});
  workers.pause = kShortestPoll;
  if (!workers.is_polling) workers.is_polling = StartThread(PollHostWork);
  Globals().changed.NotifyAll();
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
    Work::Poll is_over = item.work == nullptr ? Work::Poll() : item.work->MakePoll();
    if (is_over) {
      AddPolled(item, std::move(is_over));
    } else if (item.work != nullptr) {
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
