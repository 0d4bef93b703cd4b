// Epochs: a coarse clock for "how long has this been free", without reading a clock on a hit.
//
// Idea: frees are stamped with a number that is read from memory; slow steps and Maintain advance
// it, at most every kStepNs. Something stamped e was freed before epoch e + 1 began, so its age is
// known from below.
//
// Threads: now() from any; all else under the device's lock. Units: nanoseconds.
#ifndef VRAMSTOW_ALLOCATOR_CORE_EPOCHS_H_
#define VRAMSTOW_ALLOCATOR_CORE_EPOCHS_H_

#include <atomic>
#include <cstdint>

#include "allocator/core/device_lock.h"

namespace vramstow {

class Epochs {
 public:
  static constexpr uint64_t kStepNs = 5'000'000;

  // The stamp for what is freed now. From 1 on; 0 is older than everything.
  uint32_t now() const { return epoch_.load(std::memory_order_relaxed); }

  void Advance(uint64_t time_ns) VRAMSTOW_REQUIRES(kDeviceLock) {
    const uint32_t epoch = now();
    if (begins_[epoch % kKept] != 0 && time_ns - begins_[epoch % kKept] < kStepNs) return;
    begins_[(epoch + 1) % kKept] = time_ns;
    epoch_.store(epoch + 1, std::memory_order_relaxed);
  }

  // The last epoch whose frees are all at least `age_ns` old; 0: none is known to be.
  uint32_t OlderThan(uint64_t age_ns, uint64_t time_ns) const VRAMSTOW_REQUIRES(kDeviceLock) {
    const uint32_t epoch = now();
    for (uint32_t back = 0; back + 1 < kKept && back + 1 < epoch; ++back) {
      // Epoch (epoch - back) began, so everything stamped before it is older than this.
      if (begins_[(epoch - back) % kKept] + age_ns <= time_ns) return epoch - back - 1;
    }
    return 0;
  }

 private:
  static constexpr uint32_t kKept = 16384;

  std::atomic<uint32_t> epoch_{1};
  uint64_t begins_[kKept] = {};
};

}  // namespace vramstow

#endif  // VRAMSTOW_ALLOCATOR_CORE_EPOCHS_H_
