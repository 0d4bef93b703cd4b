// What PyTorch's allocator holds.
//
// Ownership: none. Threads: any, without locks of that allocator. Errors: 0: not known. Units:
// bytes.
#ifndef VRAMSTOW_ADAPTERS_TORCH_CENSUS_LIVE_BYTES_H_
#define VRAMSTOW_ADAPTERS_TORCH_CENSUS_LIVE_BYTES_H_

#include <c10/cuda/CUDACachingAllocator.h>
#include <c10/cuda/CUDAFunctions.h>

#include <algorithm>
#include <cstdint>
#include <exception>

namespace vramstow::torch_census {

// On all devices.
inline uint64_t LiveBytes() {
  uint64_t bytes = 0;
  try {
    auto* allocator = c10::cuda::CUDACachingAllocator::get();
    const int count = c10::cuda::device_count();
    for (int device = 0; device < count; ++device) {
      const auto stats = allocator->getDeviceStats(static_cast<c10::DeviceIndex>(device));
      bytes += static_cast<uint64_t>(std::max<int64_t>(0, stats.allocated_bytes[0].current));
    }
  } catch (const std::exception&) {
    return 0;
  }
  return bytes;
}

}  // namespace vramstow::torch_census

#endif  // VRAMSTOW_ADAPTERS_TORCH_CENSUS_LIVE_BYTES_H_
