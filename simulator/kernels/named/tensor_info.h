// Reads PyTorch's TensorInfo with 32-bit indices, as kernels take it: an address, sizes, and
// strides in elements. Dimension 0 varies slowest.
//
// Source: ATen/cuda/detail/TensorInfo.cuh of PyTorch 2.15. Ownership: a value. Threads: no state.
// Errors: returns false. Units: elements.
#ifndef VRAMSTOW_SIMULATOR_KERNELS_NAMED_TENSOR_INFO_H_
#define VRAMSTOW_SIMULATOR_KERNELS_NAMED_TENSOR_INFO_H_

#include "simulator/kernels/named/emulation.h"
#include "simulator/kernels/named/loop.h"

namespace vramstow::simulator {

struct Strided {
  uint64_t address = 0;
  size_t dimensions = 0;
  uint32_t sizes[kDimensionsMax] = {};
  uint32_t strides[kDimensionsMax] = {};

  uint64_t Elements() const {
    uint64_t count = 1;
    for (size_t i = 0; i < dimensions; ++i) count *= sizes[i];
    return count;
  }
  uint64_t Offset(uint64_t index) const {
    uint64_t offset = 0;
    for (size_t i = dimensions; i-- > 0;) {
      offset += index % sizes[i] * strides[i];
      index /= sizes[i];
    }
    return offset;
  }
  // Returns the number of elements from the first one to the last one in memory; 0 for an empty
  // tensor.
  uint64_t Reach() const {
    uint64_t reach = 1;
    for (size_t i = 0; i < dimensions; ++i) {
      if (sizes[i] == 0) return 0;
      reach += static_cast<uint64_t>(sizes[i] - 1) * strides[i];
    }
    return reach;
  }
};

inline constexpr size_t kTensorInfoBytes = 216;  // address, 25 sizes, 25 strides, dimensions

// Returns false if the argument is not a TensorInfo, or if the tensor has no elements.
inline bool ReadTensorInfo(const KernelLaunch& launch, size_t argument, Strided* tensor) {
  tensor->address = launch.Get<uint64_t>(argument, 0);
  const auto dimensions = launch.Get<int32_t>(argument, 8 + size_t{8} * kDimensionsMax);
  if (dimensions < 0 || dimensions > kDimensionsMax) return false;
  tensor->dimensions = static_cast<size_t>(dimensions);
  for (size_t i = 0; i < tensor->dimensions; ++i) {
    tensor->sizes[i] = launch.Get<uint32_t>(argument, 8 + 4 * i);
    tensor->strides[i] = launch.Get<uint32_t>(argument, 8 + 4 * (kDimensionsMax + i));
    if (tensor->sizes[i] == 0) return false;
  }
  return true;
}

}  // namespace vramstow::simulator

#endif  // VRAMSTOW_SIMULATOR_KERNELS_NAMED_TENSOR_INFO_H_
