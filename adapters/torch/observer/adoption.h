// Adoption adds the blocks that PyTorch's allocator had before the observer was installed.
//
// Idea: PyTorch also reports to its trackers when it has taken the snapshot of a device, while it
// still holds that device's lock. So the order is exact: the snapshot contains the effect of every
// event that a tracker got for the device before that moment, and of no later event. From that
// moment until the blocks of the snapshot are adopted, trackers of that device wait for some
// milliseconds.
//
// Ownership: values. Threads: one thread adopts; trackers in other threads call Observes() for each
// event. Errors: a device that cannot be adopted is not observed. Units: bytes.
#ifndef VRAMSTOW_ADAPTERS_TORCH_OBSERVER_ADOPTION_H_
#define VRAMSTOW_ADAPTERS_TORCH_OBSERVER_ADOPTION_H_

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <climits>
#include <cstdint>

namespace vramstow::torch_observer {

class Adoption {
 public:
  // From now on no event of the device is observed until its snapshot is taken.
  void Await() { Set(Phase::kAwaits); }
  // Called when PyTorch has taken the device's snapshot, and holds its lock.
  void OnSnapshot() {
    Phase expected = Phase::kAwaits;
    phase_.compare_exchange_strong(expected, Phase::kAdopts, std::memory_order_acq_rel);
  }
  bool is_adopting() const { return phase_.load(std::memory_order_acquire) == Phase::kAdopts; }
  // Called when all blocks are adopted; from now on the device is observed.
  void Finish() { Set(Phase::kObserves); }
  void Stop() { Set(Phase::kIgnores); }

  // True if an event that PyTorch reports to the tracker is to be recorded. Waits while the
  // snapshot is being adopted.
  bool Observes() {
    const Phase phase = phase_.load(std::memory_order_acquire);
    return phase == Phase::kObserves || (phase == Phase::kAdopts && Wait());
  }

 private:
  enum class Phase : uint32_t { kIgnores, kAwaits, kAdopts, kObserves };

  void Set(Phase phase) {
    phase_.store(phase, std::memory_order_release);
    CallFutex(FUTEX_WAKE_PRIVATE, INT_MAX);
  }
  bool Wait() {
    // Checked in a loop, because a signal may also wake a waiting thread early.
    while (is_adopting()) {
      CallFutex(FUTEX_WAIT_PRIVATE, static_cast<int>(Phase::kAdopts));
    }
    return phase_.load(std::memory_order_acquire) == Phase::kObserves;
  }
  // std::atomic::wait is missing in the C++ library of Debian 11, for which the wheel is compiled.
  void CallFutex(int operation, int value) {
    syscall(SYS_futex, &phase_, operation, value, nullptr, nullptr, 0);
  }

  std::atomic<Phase> phase_{Phase::kIgnores};
  static_assert(sizeof(phase_) == sizeof(uint32_t) && std::atomic<Phase>::is_always_lock_free);
};

}  // namespace vramstow::torch_observer

#endif  // VRAMSTOW_ADAPTERS_TORCH_OBSERVER_ADOPTION_H_
