// Discrete Fourier transforms of any length and up to three dimensions, in double precision.
//
// Idea: a line whose length is a power of two is transformed by the radix-2 algorithm of Cooley and
// Tukey (1965), any other by Bluestein's (1970), which makes of it a convolution of a length that
// is a power of two. More dimensions are transformed line by line.
//
// Threads: pure functions. Errors: none; the caller has checked sizes. Units: elements.
#ifndef VRAMSTOW_SIMULATOR_RUNTIME_LIBRARIES_CUFFT_TRANSFORM_H_
#define VRAMSTOW_SIMULATOR_RUNTIME_LIBRARIES_CUFFT_TRANSFORM_H_

#include <complex>
#include <cstdint>
#include <vector>

namespace vramstow::simulator {

using Complex = std::complex<double>;

inline constexpr int kMostDimensions = 3;
inline constexpr int kForward = -1;
inline constexpr int kInverse = 1;

// How values of one side lie in memory; the distance between neighbours of the last dimension is
// `stride`, the rows have `embed` elements (embed[0] is not used), batches are `distance` apart.
struct Side {
  int64_t embed[kMostDimensions] = {};
  int64_t stride = 1;
  int64_t distance = 0;
  int type = 0;  // a cudaDataType
};

struct Geometry {
  int dimensions = 1;
  int64_t size[kMostDimensions] = {1, 1, 1};
  int64_t batch = 1;
  bool basic = false;  // no layout was given: in place, real rows are padded to complex ones
  Side in;
  Side out;

  int64_t Elements() const { return size[0] * size[1] * size[2]; }
  bool InIsReal() const;
  bool OutIsReal() const;
};

// Bytes of an element; 0 for a type that a transform cannot have.
size_t BytesOfElement(int type);

// Bytes from the first element of the first batch to the end of the last one.
size_t BytesOfSide(const Geometry& geometry, const Side& side, bool half);
// The side as it is in a transform whose input and output are the same memory.
Side InPlace(const Geometry& geometry, const Side& side, bool real);

// One direction: -1 forward, 1 inverse; nothing is scaled.
void Transform(const Geometry& geometry, const void* input, void* output, int direction);

// One line, in place.
void TransformLine(std::vector<Complex>* line, int direction);

}  // namespace vramstow::simulator

#endif  // VRAMSTOW_SIMULATOR_RUNTIME_LIBRARIES_CUFFT_TRANSFORM_H_
