// Computes the bytes of a CUDA array from its description.
//
// Ownership: none. Threads: pure functions. Errors: 0 for an unknown format. Units: bytes. Source:
// the formats and the meaning of Depth in the CUDA driver API's description of
// CUDA_ARRAY3D_DESCRIPTOR.
#ifndef VRAMSTOW_INTERPOSE_CORE_HANDLERS_ARRAY_BYTES_H_
#define VRAMSTOW_INTERPOSE_CORE_HANDLERS_ARRAY_BYTES_H_

#include <algorithm>
#include <cstdint>

#include "interpose/core/runtime/cuda_abi.h"

namespace vramstow::handlers {

constexpr uint64_t BytesOfElement(CUarray_format format, unsigned int channels) {
  switch (format) {
    case CU_AD_FORMAT_UNSIGNED_INT8:
    case CU_AD_FORMAT_SIGNED_INT8:
      return channels;
    case CU_AD_FORMAT_UNSIGNED_INT16:
    case CU_AD_FORMAT_SIGNED_INT16:
    case CU_AD_FORMAT_HALF:
      return uint64_t{2} * channels;
    case CU_AD_FORMAT_UNSIGNED_INT32:
    case CU_AD_FORMAT_SIGNED_INT32:
    case CU_AD_FORMAT_FLOAT:
      return uint64_t{4} * channels;
    default:
      return 0;
  }
}

// A dimension of 0 means that the array does not have this dimension.
template <typename Descriptor>
constexpr uint64_t BytesOf2D(const Descriptor& array) {
  return uint64_t{array.Width} * std::max<uint64_t>(array.Height, 1) *
         BytesOfElement(array.Format, array.NumChannels);
}

// Returns the bytes of the mipmap levels 0 to `levels` - 1. The number of layers is the same in
// each level; the depth becomes smaller.
template <typename Descriptor>
constexpr uint64_t BytesOf3D(const Descriptor& array, unsigned int levels) {
  const bool layered = (array.Flags & (CUDA_ARRAY3D_LAYERED | CUDA_ARRAY3D_CUBEMAP)) != 0;
  uint64_t elements = 0;
  for (unsigned int level = 0; level < levels && level < 64; ++level) {
    const auto side = [level](uint64_t full) { return std::max<uint64_t>(full >> level, 1); };
    elements += side(array.Width) * side(array.Height) *
                (layered ? std::max<uint64_t>(array.Depth, 1) : side(array.Depth));
  }
  return elements * BytesOfElement(array.Format, array.NumChannels);
}

// True if the array has memory when it is created; a sparse array gets its memory in parts later.
template <typename Descriptor>
constexpr bool HasMemoryAtOnce(const Descriptor& array) {
  return (array.Flags & (CUDA_ARRAY3D_SPARSE | CUDA_ARRAY3D_DEFERRED_MAPPING)) == 0;
}

}  // namespace vramstow::handlers

#endif  // VRAMSTOW_INTERPOSE_CORE_HANDLERS_ARRAY_BYTES_H_
