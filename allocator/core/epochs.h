// Epochs: a coarse clock that tells how long memory has been free, without a clock read on the fast
// path.
//
// Idea: each free is stamped with the current epoch number, which is read from memory. Slow steps
// and Maintain() advance the epoch, at most once every kStepNs. Memory with the stamp e was freed
// before epoch e + 1 began, which gives a lower bound of its age.
//
// Ownership: none. Threads: now() may be called from any thread, all else under the device's lock.
// Errors: none. Units: nanoseconds.
#ifndef VRAMSTOW_ALLOCATOR_CORE_EPOCHS_H_
#define VRAMSTOW_ALLOCATOR_CORE_EPOCHS_H_

#include <atomic>
#include <cstdint>

#include "allocator/core/device_lock.h"

namespace vramstow {

class Epochs {
 public:
  static constexpr uint64_t kStepNs = 5'000'000;

  // The epoch to stamp on memory that is freed now; at least 1, because 0 stands for a time before
  // every epoch.
  uint32_t now() const { return epoch_.load(std::memory_order_relaxed); }

  void Advance(uint64_t time_ns) VRAMSTOW_REQUIRES(kDeviceLock) {
    const uint32_t epoch = now();
    if (begins_[epoch % kCapacity] != 0 && time_ns - begins_[epoch % kCapacity] < kStepNs) return;
    begins_[(epoch + 1) % kCapacity] = time_ns;
    epoch_.store(epoch + 1, std::memory_order_relaxed);
  }

  // Returns the last epoch whose frees are all at least `age_ns` old, or 0 if there is none.
  uint32_t OlderThan(uint64_t age_ns, uint64_t time_ns) const VRAMSTOW_REQUIRES(kDeviceLock) {
    const uint32_t epoch = now();
    for (uint32_t back = 0; back + 1 < kCapacity && back + 1 < epoch; ++back) {
      // Everything stamped with an earlier epoch was freed before epoch (epoch - back) began.
      if (begins_[(epoch - back) % kCapacity] + age_ns <= time_ns) return epoch - back - 1;
    }
    return 0;
  }

 private:
  static constexpr uint32_t kCapacity = 16384;

  std::atomic<uint32_t> epoch_{1};
  uint64_t begins_[kCapacity] = {};
};

}  // namespace vramstow

#endif  // VRAMSTOW_ALLOCATOR_CORE_EPOCHS_H_
