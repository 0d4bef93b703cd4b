// MemoryFraction limits the part of a device's memory that PyTorch may use.
//
// Idea: the fraction limits the pool and PyTorch's own allocator together, because both may have
// memory on one device. Before one of the two allocates, its limit is set to the bytes of the
// fraction that the other one does not use.
//
// Ownership: stores pointers that live as long as the process. Threads: any. Errors: PyTorch's
// exceptions. Units: parts of 1; bytes.
#ifndef VRAMSTOW_ADAPTERS_TORCH_MEMORY_FRACTION_H_
#define VRAMSTOW_ADAPTERS_TORCH_MEMORY_FRACTION_H_

#include "adapters/torch/device.h"
#include "adapters/torch/native.h"

namespace vramstow::torch_adapter {

class MemoryFraction {
 public:
  MemoryFraction(const vramstow_framework* table, Native native) : table_(table), native_(native) {}

  double Get(Device* device) const;
  void Set(double fraction, Device* device);
  // Reads the fraction from PyTorch's settings, when the pool of a device is opened.
  void Adopt(Device* device);
  // Limits the pool to the fraction minus the memory of PyTorch's own allocator.
  void LimitPool(Device* device);
  // Limits PyTorch's own allocator to the fraction minus the memory of the pool.
  void LimitNative(Device* device);

 private:
  uint64_t NativeReserved(const Device& device) const;

  const vramstow_framework* const table_;
  const Native native_;
};

// Enforces the common limit during an allocation by PyTorch's own allocator.
class NativeAllocationScope {
 public:
  NativeAllocationScope(MemoryFraction* fraction, Device* device)
      : fraction_(fraction), device_(device) {
    device->native_used.store(true, std::memory_order_relaxed);
    if (device->has_fraction) fraction->LimitNative(device);
  }
  ~NativeAllocationScope() {
    if (device_->has_fraction && device_->handle >= 0) fraction_->LimitPool(device_);
  }
  NativeAllocationScope(const NativeAllocationScope&) = delete;
  NativeAllocationScope& operator=(const NativeAllocationScope&) = delete;

 private:
  MemoryFraction* const fraction_;
  Device* const device_;
};

}  // namespace vramstow::torch_adapter

#endif  // VRAMSTOW_ADAPTERS_TORCH_MEMORY_FRACTION_H_
