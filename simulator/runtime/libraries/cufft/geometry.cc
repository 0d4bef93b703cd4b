#include "simulator/runtime/libraries/cufft/geometry.h"

#include <library_types.h>

#include "simulator/runtime/libraries/common/element_bytes.h"

namespace vramstow::simulator {
namespace {

bool IsReal(int type) {
  return type == CUDA_R_16F || type == CUDA_R_16BF || type == CUDA_R_32F || type == CUDA_R_64F;
}

}  // namespace

bool Geometry::InIsReal() const { return IsReal(in.type); }
bool Geometry::OutIsReal() const { return IsReal(out.type); }

size_t Geometry::OutputBytes(bool in_place) const {
  const int last = dimensions - 1;
  Side side = out;
  if (in_place && basic && OutIsReal()) {
    const int64_t row = 2 * (size[last] / 2 + 1);
    side.embed[last] = row;
    side.distance = row;
    for (int d = 0; d < last; ++d) side.distance *= size[d];
  }
  // In a transform between real and complex values, the complex side has only the first half of the
  // last dimension.
  int64_t offset = 0;
  for (int d = 0; d < dimensions; ++d) {
    const int64_t index = d == last && InIsReal() ? size[d] / 2 : size[d] - 1;
    offset = d == 0 ? index : offset * side.embed[d] + index;
  }
  const int64_t elements = (batch - 1) * side.distance + offset * side.stride + 1;
  return static_cast<size_t>(elements) * BytesOfElement(side.type);
}

bool IsTransformed(int type) {
  return type != CUDA_R_8I && type != CUDA_R_32I && BytesOfElement(type) != 0;
}

}  // namespace vramstow::simulator
