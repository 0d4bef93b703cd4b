// The threads that run the application's host functions.
//
// Idea: as the real driver does, a thread of our own calls them, in stream order and one at a time.
// It is started with the first such work and has all signals blocked. Only if a function takes long
// do others, of other streams, run beside it on further threads: it may be waiting for them. While
// host work is pending and the application makes no calls, they also move the virtual clock on, so
// that the work's turn comes.
//
// Ownership: threads live as long as the process, and work until it has run. Threads: the driver's
// lock, but while a function of the application runs. Errors: none. Units: none.
#ifndef VRAMSTOW_SIMULATOR_DRIVER_HOST_WORKER_H_
#define VRAMSTOW_SIMULATOR_DRIVER_HOST_WORKER_H_

#include "simulator/driver/state.h"

namespace vramstow::simulator {

// Host work was enqueued. Called with the lock held.
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
