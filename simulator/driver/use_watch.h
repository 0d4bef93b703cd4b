// UseWatch reports the memory that work uses to a watcher (vramstowSimulatorWatchUses), and lets it
// surround tasks (vramstowSimulatorWrapTasks).
//
// Idea: a real GPU does not report what its kernels access, so code that moves memory reads the
// arguments of launches. The simulated GPU's kernels are mostly not run, and their images do not
// describe their arguments. But the code that computes an operator on the host knows what the
// operator reads and writes, and reports it here.
//
// Ownership: one for the process; the watcher lives as long as it. Threads: any, without the
// driver's lock. Errors: none. Units: bytes.
#ifndef VRAMSTOW_SIMULATOR_DRIVER_USE_WATCH_H_
#define VRAMSTOW_SIMULATOR_DRIVER_USE_WATCH_H_

#include <atomic>
#include <cstddef>

#include "simulator/simulator_api.h"

namespace vramstow::simulator {

class UseWatch {
 public:
  static UseWatch& Global() {
    static constinit UseWatch watch;
    return watch;
  }

  void Set(vramstowSimulatorUseWatcher seen, void* user) {
    user_.store(user, std::memory_order_relaxed);
    seen_.store(seen, std::memory_order_release);
  }
  void SetWrapper(vramstowSimulatorTaskWrapper wrap, void* user) {
    wrap_user_.store(user, std::memory_order_relaxed);
    wrap_.store(wrap, std::memory_order_release);
  }
  // Calls `append(call)`, inside the wrapper if one is set.
  int Wrap(int (*append)(void* call), void* call) const {
    const vramstowSimulatorTaskWrapper wrap = wrap_.load(std::memory_order_acquire);
    if (wrap == nullptr) return append(call);
    return wrap(append, call, wrap_user_.load(std::memory_order_relaxed));
  }
  bool is_watched() const { return seen_.load(std::memory_order_relaxed) != nullptr; }
  void Report(const vramstowSimulatorRange* ranges, size_t count) const {
    const vramstowSimulatorUseWatcher seen = seen_.load(std::memory_order_acquire);
    if (seen != nullptr && count != 0) seen(ranges, count, user_.load(std::memory_order_relaxed));
  }

 private:
  std::atomic<vramstowSimulatorUseWatcher> seen_{nullptr};
  std::atomic<void*> user_{nullptr};
  std::atomic<vramstowSimulatorTaskWrapper> wrap_{nullptr};
  std::atomic<void*> wrap_user_{nullptr};
};

}  // namespace vramstow::simulator

#endif  // VRAMSTOW_SIMULATOR_DRIVER_USE_WATCH_H_
