// Device: what the adapter keeps of one CUDA device.
//
// Ownership: made once for each device, never destroyed: tensors may be freed after main has ended.
// Threads: any; each part says for itself. Errors: handle < 0: the pool does not serve this device,
// PyTorch's own allocator does. Units: bytes.
#ifndef VRAMSTOW_ADAPTERS_TORCH_DEVICE_H_
#define VRAMSTOW_ADAPTERS_TORCH_DEVICE_H_

#include <atomic>
#include <mutex>

#include "adapters/torch/counters.h"
#include "adapters/torch/private_pools.h"

namespace vramstow::torch_adapter {

struct Device {
  static constexpr int kUnopened = -1;
  static constexpr int kNoPool = -2;

  DeviceIndex index = 0;
  std::atomic<int> handle{kUnopened};
  std::mutex opening;
  Counters counters;
  PrivatePools pools;
  std::atomic<double> fraction{1.0};
  std::atomic<bool> has_fraction{false};
  std::atomic<bool> native_used{false};  // PyTorch's own allocator has blocks here, too
  std::atomic<int64_t> retries{0};
  std::atomic<int64_t> out_of_memory{0};
  std::atomic<int64_t> synchronizations{0};
};

}  // namespace vramstow::torch_adapter

#endif  // VRAMSTOW_ADAPTERS_TORCH_DEVICE_H_
