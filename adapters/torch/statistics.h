// Statistics computes the numbers of torch.cuda.memory_stats, for one device at a time.
//
// Idea: Counters counts tensors; the pool counts its chunks; PyTorch's own allocator counts the
// requests that it serves. This class adds them up.
//
// Ownership: stores pointers that live as long as the process. Threads: any. Errors: a device
// without a pool has the numbers of PyTorch's own allocator. Units: bytes, blocks.
#ifndef VRAMSTOW_ADAPTERS_TORCH_STATISTICS_H_
#define VRAMSTOW_ADAPTERS_TORCH_STATISTICS_H_

#include "adapters/torch/device.h"
#include "adapters/torch/native.h"

namespace vramstow::torch_adapter {

class Statistics {
 public:
  Statistics(const vramstow_framework* table, Native native) : table_(table), native_(native) {}

  // Reads the settings that the statistics contain. PyTorch's own allocator must be initialized.
  void ReadSettings() { max_split_size_ = native_->getDeviceStats(0).max_split_size; }

  DeviceStats Of(Device* device);
  void ResetAccumulated(Device* device);
  void ResetPeaks(Device* device);
  // Asks the pool how much it has reserved, and updates the count.
  void UpdateReserved(Device* device);

 private:
  const vramstow_framework* const table_;
  const Native native_;
  std::atomic<int64_t> max_split_size_{-1};  // a setting of PyTorch's own allocator
};

}  // namespace vramstow::torch_adapter

#endif  // VRAMSTOW_ADAPTERS_TORCH_STATISTICS_H_
