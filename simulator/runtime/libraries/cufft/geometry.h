// Describes the shapes of cuFFT's transforms, and how their values lie in memory.
//
// Ownership: values. Threads: pure functions. Errors: none; the caller has checked sizes. Units:
// elements, unless documented otherwise.
#ifndef VRAMSTOW_SIMULATOR_RUNTIME_LIBRARIES_CUFFT_GEOMETRY_H_
#define VRAMSTOW_SIMULATOR_RUNTIME_LIBRARIES_CUFFT_GEOMETRY_H_

#include <cstddef>
#include <cstdint>

namespace vramstow::simulator {

inline constexpr int kMaxDimensions = 3;

// The layout of the input or the output. `stride` is the distance between neighbours in the last
// dimension, `embed` the number of elements in each dimension (embed[0] is not used), and
// `distance` the distance between batches.
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
  // Returns the bytes from the first element of the output's first batch to the end of its last
  // batch. `in_place` is true if the input is the same memory.
  size_t OutputBytes(bool in_place) const;
};

// True if cuFFT can transform elements of this cudaDataType_t.
bool IsTransformed(int type);

}  // namespace vramstow::simulator

#endif  // VRAMSTOW_SIMULATOR_RUNTIME_LIBRARIES_CUFFT_GEOMETRY_H_
