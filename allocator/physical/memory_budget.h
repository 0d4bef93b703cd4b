// MemoryBudget: how much physical device memory a pool holds now, held at the peak, and may hold.
//
// Ownership: none. Threads: Add and Remove under the device's lock; the numbers may be read from
// any thread. Errors: none. Units: bytes.
#ifndef VRAMSTOW_ALLOCATOR_PHYSICAL_MEMORY_BUDGET_H_
#define VRAMSTOW_ALLOCATOR_PHYSICAL_MEMORY_BUDGET_H_

#include <atomic>
#include <cstdint>

#include "allocator/core/device_lock.h"

namespace vramstow {

class MemoryBudget {
 public:
  void Add(uint64_t bytes) VRAMSTOW_REQUIRES(kDeviceLock) {
    const uint64_t held = reserved_bytes() + bytes;
    reserved_.store(held, std::memory_order_relaxed);
    if (held > peak_bytes()) peak_.store(held, std::memory_order_relaxed);
  }
  void Remove(uint64_t bytes) VRAMSTOW_REQUIRES(kDeviceLock) {
    reserved_.store(reserved_bytes() - bytes, std::memory_order_relaxed);
  }
  void Clear() VRAMSTOW_REQUIRES(kDeviceLock) { reserved_.store(0, std::memory_order_relaxed); }

  uint64_t reserved_bytes() const { return reserved_.load(std::memory_order_relaxed); }
  uint64_t peak_bytes() const { return peak_.load(std::memory_order_relaxed); }
  void ResetPeak() { peak_.store(reserved_bytes(), std::memory_order_relaxed); }
  // The limit of the reserved memory; 0 means no limit.
  void set_limit_bytes(uint64_t limit) { limit_.store(limit, std::memory_order_relaxed); }
  uint64_t limit_bytes() const { return limit_.load(std::memory_order_relaxed); }
  // Returns how many more units of `unit_bytes` the limit allows.
  uint64_t UnitsUnderLimit(uint64_t unit_bytes) const {
    const uint64_t limit = limit_bytes();
    if (limit == 0) return ~uint64_t{0};
    const uint64_t reserved = reserved_bytes();
    return reserved >= limit ? 0 : (limit - reserved) / unit_bytes;
  }

 private:
  std::atomic<uint64_t> reserved_{0};
  std::atomic<uint64_t> peak_{0};
  std::atomic<uint64_t> limit_{0};
};

}  // namespace vramstow

#endif  // VRAMSTOW_ALLOCATOR_PHYSICAL_MEMORY_BUDGET_H_
