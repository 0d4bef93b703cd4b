#include "simulator/driver/host_worker.h"

#include <pthread.h>
#include <signal.h>

#include <chrono>

namespace vramstow::simulator {
namespace {

// How long the application may be silent before the clock moves on without it.
constexpr auto kSilence = std::chrono::microseconds(200);

void RunOne(State* state, std::unique_lock<std::mutex>* lock, const Timeline::HostWork& item) {
  lock->unlock();
  item.work->Run(0);
  lock->lock();
  state->machine->timeline.FinishHostWork(item.queue);
  state->changed.notify_all();
}

void* RunHostWorker(void* argument) {
  State* state = static_cast<State*>(argument);
  Timeline& timeline = state->machine->timeline;
  std::unique_lock<std::mutex> lock(state->mutex);
  uint64_t calls = state->calls;
  while (!state->shut_down) {
    const Timeline::HostWork item = timeline.TakeHostWork();
    if (item.work != nullptr) {
      RunOne(state, &lock, item);
    } else if (timeline.pending_host_work() == 0) {
      state->changed.wait(lock);
    } else {
      const auto deadline = std::chrono::system_clock::now() + kSilence;
      state->changed.wait_until(lock, deadline);
      if (state->calls == calls) timeline.Step();
      calls = state->calls;
    }
  }
  return nullptr;
}

}  // namespace

void WakeHostWorker(State* state) {
  static bool started = false;
  if (!started) {
    sigset_t all;
    sigset_t before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    pthread_t thread;
    started = pthread_create(&thread, nullptr, RunHostWorker, state) == 0;
    if (started) pthread_detach(thread);
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
  }
  state->changed.notify_all();
}

void HostFunction::Run(uint64_t /*time_ns*/) {
  CurrentThread().inside_callback = true;
  function_();
  CurrentThread().inside_callback = false;
}

}  // namespace vramstow::simulator
