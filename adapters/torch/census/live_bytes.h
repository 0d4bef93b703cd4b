// Reads how much memory PyTorch's allocator holds.
//
// Ownership: none. Threads: any, without locks of that allocator; Python's lock may be held.
// Errors: 0 if it is unknown. Units: bytes.
#ifndef VRAMSTOW_ADAPTERS_TORCH_CENSUS_LIVE_BYTES_H_
#define VRAMSTOW_ADAPTERS_TORCH_CENSUS_LIVE_BYTES_H_

#include <c10/cuda/CUDACachingAllocator.h>
#include <c10/cuda/CUDAFunctions.h>

#include <algorithm>
#include <cstdint>
#include <exception>

namespace vramstow::torch_census {

// Sums over all devices. `live` does not change if other threads allocate as much memory as is
// freed in the same time.
struct AllocatorBytes {
  uint64_t live = 0;
  uint64_t requested = 0;  // the bytes that the program requested for `live`
  uint64_t freed = 0;      // all bytes freed since the program began
};

inline AllocatorBytes AskAllocator() {
  AllocatorBytes bytes;
  try {
    auto* allocator = c10::cuda::CUDACachingAllocator::get();
    const int count = c10::cuda::device_count();
    for (int device = 0; device < count; ++device) {
      const auto stats = allocator->getDeviceStats(static_cast<c10::DeviceIndex>(device));
      const auto& allocated = stats.allocated_bytes[0];
      bytes.live += static_cast<uint64_t>(std::max<int64_t>(0, allocated.current));
      const int64_t requested = stats.requested_bytes[0].current;
      bytes.requested += static_cast<uint64_t>(std::max<int64_t>(0, requested));
      bytes.freed += static_cast<uint64_t>(std::max<int64_t>(0, allocated.freed));
    }
  } catch (const std::exception&) {
    return {};
  }
  return bytes;
}

}  // namespace vramstow::torch_census

#endif  // VRAMSTOW_ADAPTERS_TORCH_CENSUS_LIVE_BYTES_H_
