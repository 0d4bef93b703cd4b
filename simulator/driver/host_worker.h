// Runs the application's host functions on threads of the simulator.
//
// Idea: as in the real driver, a thread of the simulator calls the functions, in stream order and
// one at a time. The thread is started at the first host function, with all signals blocked. If a
// function takes long, it may be waiting for functions of other streams. So these run in parallel
// on further threads. Work that only waits, for a value or another process, occupies none of them:
// one more thread asks all such work whether its wait is over, at first every 20 microseconds and
// then less often. While host work is pending and the application makes no calls, the threads also
// advance the virtual clock, so that streams reach their host work.
//
// Ownership: threads live as long as the process, and work until it has run. Threads: the caller
// holds the driver's lock, which is released while a function of the application runs. Errors:
// none. Units: none.
#ifndef VRAMSTOW_SIMULATOR_DRIVER_HOST_WORKER_H_
#define VRAMSTOW_SIMULATOR_DRIVER_HOST_WORKER_H_

#include "simulator/driver/state.h"

namespace vramstow::simulator {

// Wakes a worker thread after host work was enqueued. Called with the lock held.
void WakeHostWorker();

// A call of the application's function, in stream order.
class HostFunction : public Work {
 public:
  using Function = std::function<void()>;
  explicit HostFunction(Function function) : function_(std::move(function)) {}
  void Run(uint64_t time_ns) override;
  bool OnHost() const override { return true; }

 private:
  Function function_;
};

}  // namespace vramstow::simulator

#endif  // VRAMSTOW_SIMULATOR_DRIVER_HOST_WORKER_H_
