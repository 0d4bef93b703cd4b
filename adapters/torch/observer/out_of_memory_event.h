// Records the requests that PyTorch's own allocator refuses.
//
// Ownership: none. Threads: PyTorch calls an out-of-memory observer without the allocator's locks.
// Errors: none. Units: bytes.
#ifndef VRAMSTOW_ADAPTERS_TORCH_OBSERVER_OUT_OF_MEMORY_EVENT_H_
#define VRAMSTOW_ADAPTERS_TORCH_OBSERVER_OUT_OF_MEMORY_EVENT_H_

#include <c10/cuda/CUDACachingAllocator.h>

#include <cstdint>

#include "adapters/torch/failure_ends.h"
#include "include/vramstow/framework.h"

namespace vramstow::torch_observer {

// Records a refused request. `allowed` is the memory of the device that PyTorch may use. Called in
// the thread that is about to throw PyTorch's error.
inline void RecordOutOfMemory(const vramstow_framework_trace* trace,
                              c10::cuda::CUDACachingAllocator::CUDAAllocator* allocator,
                              int64_t device, uint64_t requested, uint64_t allowed) {
  const int kind = torch_failure::FailureEnds::InsideFramework() ? VRAMSTOW_EVENT_DONE_WITHOUT
                                                                 : VRAMSTOW_EVENT_OUT_OF_MEMORY;
  const vramstow_framework_event event = {
      kind, static_cast<int32_t>(device), allowed, requested, requested, 0};
  trace->emit(&event);
  // No lock is held, so PyTorch's number of retries can be read here.
  const auto index = static_cast<c10::DeviceIndex>(device);
  const auto retries = allocator->getDeviceStats(index).num_alloc_retries;
  trace->reserve(static_cast<int>(device), 0, static_cast<uint64_t>(retries));
}

}  // namespace vramstow::torch_observer

#endif  // VRAMSTOW_ADAPTERS_TORCH_OBSERVER_OUT_OF_MEMORY_EVENT_H_
