// The shapes of cuFFT's transforms, and how their values lie in memory.
//
// Ownership: values. Threads: pure functions. Errors: none; the caller has checked sizes. Units:
// elements, unless said otherwise.
#ifndef VRAMSTOW_SIMULATOR_RUNTIME_LIBRARIES_CUFFT_GEOMETRY_H_
#define VRAMSTOW_SIMULATOR_RUNTIME_LIBRARIES_CUFFT_GEOMETRY_H_

#include <cstddef>
#include <cstdint>

namespace vramstow::simulator {

inline constexpr int kMaxDimensions = 3;

// How values of one side lie in memory; the distance between neighbours of the last dimension is
// `stride`, the rows have `embed` elements (embed[0] is not used), batches are `distance` apart.
struct Side {
  int64_t embed[kMaxDimensions] = {};
  int64_t stride = 1;
  int64_t distance = 0;
  int type = 0;  // a cudaDataType
};

struct Geometry {
  int dimensions = 1;
  int64_t size[kMaxDimensions] = {1, 1, 1};
  int64_t batch = 1;
  bool basic = false;  // no layout was given: in place, real rows are padded to complex ones
  Side in;
  Side out;

  int64_t Elements() const { return size[0] * size[1] * size[2]; }
  bool InIsReal() const;
  bool OutIsReal() const;
  // Bytes from the first element of the output's first batch to the end of its last one;
  // `in_place`: the input is the same memory.
  size_t OutputBytes(bool in_place) const;
};

// Whether a transform can have elements of that cudaDataType_t.
bool IsTransformed(int type);

}  // namespace vramstow::simulator

#endif  // VRAMSTOW_SIMULATOR_RUNTIME_LIBRARIES_CUFFT_GEOMETRY_H_
