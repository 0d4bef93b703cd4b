#include "simulator/kernels/named/loop.h"

#include <cstring>

namespace vramstow::simulator {

uint64_t Shape::Elements() const {
  uint64_t count = 1;
  for (int i = 0; i < dimensions; ++i) {
    if (sizes[i] != 0 && count > UINT64_MAX / sizes[i]) return UINT64_MAX;
    count *= sizes[i];
  }
  return count;
}

uint64_t Operand::Begin(const Shape& shape) const {
  uint64_t begin = address;
  for (int i = 0; i < shape.dimensions; ++i) {
    if (strides[i] < 0) begin -= (shape.sizes[i] - 1) * static_cast<uint64_t>(-strides[i]);
  }
  return begin;
}

uint64_t Operand::End(const Shape& shape) const {
  uint64_t end = address + BytesOf(element);
  for (int i = 0; i < shape.dimensions; ++i) {
    if (strides[i] > 0) end += (shape.sizes[i] - 1) * static_cast<uint64_t>(strides[i]);
  }
  return end;
}

bool ReadOffsetCalculator(const char* bytes, uint64_t count, Shape* shape, Operand* out) {
  int32_t dimensions = 0;
  memcpy(&dimensions, bytes, 4);
  if (dimensions < 0 || dimensions > kDimensionsMax) return false;
  *shape = Shape{.dimensions = dimensions};
  const char* sizes = bytes + 4;
  const char* strides = sizes + static_cast<size_t>(12) * kDimensionsMax;
  for (int i = 0; i < dimensions; ++i) {
    uint32_t size = 0;
    memcpy(&size, sizes + static_cast<size_t>(12) * i, 4);
    if (size == 0) return false;
    shape->sizes[i] = size;
    uint32_t stride = 0;
    memcpy(&stride, strides + static_cast<size_t>(4) * i, 4);
    out->strides[i] = stride;
  }
  return shape->Elements() == count;
}

}  // namespace vramstow::simulator
