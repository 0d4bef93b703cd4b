#include "simulator/runtime/libraries/cufft/transform.h"

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <library_types.h>

#include <cmath>
#include <cstring>
#include <numbers>

namespace vramstow::simulator {
namespace {

bool IsReal(int type) {
  return type == CUDA_R_16F || type == CUDA_R_16BF || type == CUDA_R_32F || type == CUDA_R_64F;
}

// The real numbers of memory, whatever their type.
double LoadNumber(int type, const uint8_t* at, int part) {
  switch (type) {
    case CUDA_R_64F:
    case CUDA_C_64F:
      return reinterpret_cast<const double*>(at)[part];
    case CUDA_R_16F:
    case CUDA_C_16F:
      return __half2float(reinterpret_cast<const __half*>(at)[part]);
    case CUDA_R_16BF:
    case CUDA_C_16BF:
      return __bfloat162float(reinterpret_cast<const __nv_bfloat16*>(at)[part]);
    default:
      return reinterpret_cast<const float*>(at)[part];
  }
}

void StoreNumber(int type, uint8_t* at, int part, double value) {
  switch (type) {
    case CUDA_R_64F:
    case CUDA_C_64F:
      reinterpret_cast<double*>(at)[part] = value;
      return;
    case CUDA_R_16F:
    case CUDA_C_16F:
      reinterpret_cast<__half*>(at)[part] = __float2half_rn(static_cast<float>(value));
      return;
    case CUDA_R_16BF:
    case CUDA_C_16BF:
      reinterpret_cast<__nv_bfloat16*>(at)[part] = __float2bfloat16_rn(static_cast<float>(value));
      return;
    default:
      reinterpret_cast<float*>(at)[part] = static_cast<float>(value);
  }
}

Complex Load(int type, const uint8_t* at) {
  return {LoadNumber(type, at, 0), IsReal(type) ? 0 : LoadNumber(type, at, 1)};
}

void Store(int type, uint8_t* at, const Complex& value) {
  StoreNumber(type, at, 0, value.real());
  if (!IsReal(type)) StoreNumber(type, at, 1, value.imag());
}

// Where an element lies, in elements from the start of its batch. Dimensions that the transform
// does not have come last and have size 1.
int64_t OffsetOf(const Geometry& geometry, const Side& side, const int64_t index[]) {
  int64_t offset = index[0];
  for (int d = 1; d < geometry.dimensions; ++d) offset = offset * side.embed[d] + index[d];
  return offset * side.stride;
}

// Calls action(index, number) for every element; the last dimension stops at `last` elements.
template <typename Action>
void ForEach(const Geometry& geometry, int64_t last, const Action& action) {
  int64_t limit[kMostDimensions] = {geometry.size[0], geometry.size[1], geometry.size[2]};
  limit[geometry.dimensions - 1] = last;
  int64_t index[kMostDimensions] = {};
  for (index[0] = 0; index[0] < limit[0]; ++index[0]) {
    for (index[1] = 0; index[1] < limit[1]; ++index[1]) {
      for (index[2] = 0; index[2] < limit[2]; ++index[2]) {
        action(index, (index[0] * geometry.size[1] + index[1]) * geometry.size[2] + index[2]);
      }
    }
  }
}

int64_t LastSize(const Geometry& geometry) { return geometry.size[geometry.dimensions - 1]; }

// A complex side of a real transform has the first half of the last dimension; the other half is
// its mirror image.
void FillMirrored(const Geometry& geometry, std::vector<Complex>* values) {
  const int last = geometry.dimensions - 1;
  ForEach(geometry, geometry.size[last], [&](const int64_t* index, int64_t number) {
    if (index[last] <= geometry.size[last] / 2) return;
    int64_t mirrored = 0;
    for (int d = 0; d < kMostDimensions; ++d) {
      mirrored = mirrored * geometry.size[d] + (geometry.size[d] - index[d]) % geometry.size[d];
    }
    (*values)[static_cast<size_t>(number)] = std::conj((*values)[static_cast<size_t>(mirrored)]);
  });
}

void TransformDimension(const Geometry& geometry, int dimension, int direction,
                        std::vector<Complex>* values) {
  const int64_t size = geometry.size[dimension];
  if (size == 1) return;
  int64_t step = 1;
  for (int d = dimension + 1; d < kMostDimensions; ++d) step *= geometry.size[d];
  std::vector<Complex> line(static_cast<size_t>(size));
  for (int64_t start = 0; start < geometry.Elements(); ++start) {
    if (start / step % size != 0) continue;
    for (int64_t i = 0; i < size; ++i) {
      line[static_cast<size_t>(i)] = (*values)[static_cast<size_t>(start + i * step)];
    }
    TransformLine(&line, direction);
    for (int64_t i = 0; i < size; ++i) {
      (*values)[static_cast<size_t>(start + i * step)] = line[static_cast<size_t>(i)];
    }
  }
}

void TransformPowerOfTwo(std::vector<Complex>* line, int direction) {
  std::vector<Complex>& x = *line;
  const size_t n = x.size();
  for (size_t i = 1, j = 0; i < n; ++i) {
    size_t bit = n >> 1;
    for (; (j & bit) != 0; bit >>= 1) j ^= bit;
    j ^= bit;
    if (i < j) std::swap(x[i], x[j]);
  }
  for (size_t length = 2; length <= n; length <<= 1) {
    const size_t half = length / 2;
    std::vector<Complex> roots(half);
    for (size_t k = 0; k < half; ++k) {
      roots[k] = std::polar(1.0, direction * 2 * std::numbers::pi * static_cast<double>(k) /
                                     static_cast<double>(length));
    }
    for (size_t start = 0; start < n; start += length) {
      for (size_t k = 0; k < half; ++k) {
        const Complex odd = x[start + k + half] * roots[k];
        x[start + k + half] = x[start + k] - odd;
        x[start + k] += odd;
      }
    }
  }
}

// jk = (j² + k² − (j − k)²) / 2 turns the sum into a convolution with a chirp.
void TransformByChirp(std::vector<Complex>* line, int direction) {
  const size_t n = line->size();
  size_t padded = 1;
  while (padded < 2 * n - 1) padded <<= 1;
  std::vector<Complex> chirp(n);
  for (size_t k = 0; k < n; ++k) {
    // k² modulo 2n, which the root of unity does not see, keeps the angle exact.
    const double turn = static_cast<double>(k * k % (2 * n)) / static_cast<double>(n);
    chirp[k] = std::polar(1.0, direction * std::numbers::pi * turn);
  }
  std::vector<Complex> a(padded);
  std::vector<Complex> b(padded);
  for (size_t k = 0; k < n; ++k) {
    a[k] = (*line)[k] * chirp[k];
    b[k] = std::conj(chirp[k]);
    if (k > 0) b[padded - k] = b[k];
  }
  TransformPowerOfTwo(&a, -1);
  TransformPowerOfTwo(&b, -1);
  for (size_t k = 0; k < padded; ++k) a[k] *= b[k];
  TransformPowerOfTwo(&a, 1);
  for (size_t k = 0; k < n; ++k) (*line)[k] = a[k] * chirp[k] / static_cast<double>(padded);
}

}  // namespace

bool Geometry::InIsReal() const { return IsReal(in.type); }
bool Geometry::OutIsReal() const { return IsReal(out.type); }

size_t BytesOfElement(int type) {
  switch (type) {
    case CUDA_R_16F:
    case CUDA_R_16BF:
      return 2;
    case CUDA_R_32F:
    case CUDA_C_16F:
    case CUDA_C_16BF:
      return 4;
    case CUDA_R_64F:
    case CUDA_C_32F:
      return 8;
    case CUDA_C_64F:
      return 16;
    default:
      return 0;
  }
}

size_t BytesOfSide(const Geometry& geometry, const Side& side, bool half) {
  int64_t last[kMostDimensions] = {};
  for (int d = 0; d < geometry.dimensions; ++d) last[d] = geometry.size[d] - 1;
  if (half) last[geometry.dimensions - 1] = LastSize(geometry) / 2;
  const int64_t elements =
      (geometry.batch - 1) * side.distance + OffsetOf(geometry, side, last) + 1;
  return static_cast<size_t>(elements) * BytesOfElement(side.type);
}

Side InPlace(const Geometry& geometry, const Side& side, bool real) {
  Side padded = side;
  if (!geometry.basic || !real) return padded;
  const int64_t row = 2 * (LastSize(geometry) / 2 + 1);
  padded.embed[geometry.dimensions - 1] = row;
  padded.distance = row;
  for (int d = 0; d + 1 < geometry.dimensions; ++d) padded.distance *= geometry.size[d];
  return padded;
}

void TransformLine(std::vector<Complex>* line, int direction) {
  const size_t n = line->size();
  if ((n & (n - 1)) == 0) {
    TransformPowerOfTwo(line, direction);
  } else {
    TransformByChirp(line, direction);
  }
}

void Transform(const Geometry& geometry, const void* input, void* output, int direction) {
  const bool same = input == output;
  const Side in = same ? InPlace(geometry, geometry.in, geometry.InIsReal()) : geometry.in;
  const Side out = same ? InPlace(geometry, geometry.out, geometry.OutIsReal()) : geometry.out;
  const int64_t last = LastSize(geometry);
  const int64_t half = last / 2 + 1;
  const int way = geometry.InIsReal() ? kForward : geometry.OutIsReal() ? kInverse : direction;
  std::vector<Complex> values(static_cast<size_t>(geometry.Elements()));
  for (int64_t batch = 0; batch < geometry.batch; ++batch) {
    const auto* from = static_cast<const uint8_t*>(input) +
                       static_cast<size_t>(batch * in.distance) * BytesOfElement(in.type);
    auto* to = static_cast<uint8_t*>(output) +
               static_cast<size_t>(batch * out.distance) * BytesOfElement(out.type);
    ForEach(geometry, geometry.OutIsReal() ? half : last, [&](const int64_t* index, int64_t i) {
      const auto offset = static_cast<size_t>(OffsetOf(geometry, in, index));
      values[static_cast<size_t>(i)] = Load(in.type, from + offset * BytesOfElement(in.type));
    });
    if (geometry.OutIsReal()) FillMirrored(geometry, &values);
    for (int d = 0; d < geometry.dimensions; ++d) TransformDimension(geometry, d, way, &values);
    ForEach(geometry, geometry.InIsReal() ? half : last, [&](const int64_t* index, int64_t i) {
      const auto offset = static_cast<size_t>(OffsetOf(geometry, out, index));
      Store(out.type, to + offset * BytesOfElement(out.type), values[static_cast<size_t>(i)]);
    });
  }
}

}  // namespace vramstow::simulator
