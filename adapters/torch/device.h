// Device and Devices store the adapter's state of each CUDA device.
//
// Ownership: the adapter makes all devices at once and never destroys them, because tensors may be
// freed after main has returned. Threads: any; each member documents how it is shared. Errors:
// handle < 0 means that PyTorch's own allocator serves this device, not the pool. Units: bytes.
#ifndef VRAMSTOW_ADAPTERS_TORCH_DEVICE_H_
#define VRAMSTOW_ADAPTERS_TORCH_DEVICE_H_

#include <array>
#include <atomic>

#include "adapters/torch/counters.h"
#include "adapters/torch/pool_registry.h"
#include "base/mutex.h"

namespace vramstow::torch_adapter {

struct Device {
  static constexpr int kUnopened = -1;
  static constexpr int kNoPool = -2;

  DeviceIndex index = 0;
  std::atomic<int> handle{kUnopened};
  Mutex opening;  // held by the thread that opens the pool
  Counters counters;
  PoolRegistry pools;
  std::atomic<double> fraction{1.0};
  std::atomic<bool> has_fraction{false};
  std::atomic<bool> native_used{false};  // PyTorch's own allocator has blocks of this device, too
  std::atomic<int64_t> retries{0};
  std::atomic<int64_t> out_of_memory{0};
  std::atomic<int64_t> synchronizations{0};
  // The pool's totals of chunks when the program reset the accumulated statistics.
  std::atomic<uint64_t> grown_at_reset{0};
  std::atomic<uint64_t> released_at_reset{0};
};

class Devices {
 public:
  static constexpr int kMax = 64;

  Devices() {
    for (int i = 0; i < kMax; ++i) devices_[i].index = static_cast<DeviceIndex>(i);
  }

  // Checks the index, which comes from a caller of PyTorch's interface.
  Device& At(DeviceIndex device) {
    const int known = count() == 0 ? kMax : count();
    TORCH_CHECK(device >= 0 && device < known, "Invalid device argument ", static_cast<int>(device),
                ": did you call init?");
    return devices_[device];
  }
  // Does not check the index.
  Device& operator[](int device) { return devices_[device]; }

  // Returns the number of devices that PyTorch uses; 0 before init().
  int count() const { return count_.load(std::memory_order_relaxed); }
  void set_count(int count) { count_ = count < kMax ? count : kMax; }

  // Returns the device of the calling thread. With only one device the CUDA runtime is not called,
  // because that would take a third of an allocation's time.
  DeviceIndex Current() const {
    DeviceIndex device = 0;
    if (count() != 1) C10_CUDA_CHECK(c10::cuda::GetDevice(&device));
    return device;
  }

 private:
  std::atomic<int> count_{0};
  std::array<Device, kMax> devices_;
};

// One request for memory, after the stream and the private pool are known.
struct Request {
  Device* device;
  size_t size;
  cudaStream_t stream;
  uint64_t pool;
};

inline uint64_t NumberOf(cudaStream_t stream) { return reinterpret_cast<uint64_t>(stream); }

}  // namespace vramstow::torch_adapter

#endif  // VRAMSTOW_ADAPTERS_TORCH_DEVICE_H_
