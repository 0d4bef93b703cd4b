// The elements of a tensor with strides, one after the other.
//
// Ownership: values; nothing is kept. Threads: no state. Errors: false. Units: bytes.
#ifndef VRAMSTOW_SIMULATOR_KERNELS_NAMED_LOOP_H_
#define VRAMSTOW_SIMULATOR_KERNELS_NAMED_LOOP_H_

#include "simulator/kernels/named/element.h"
#include "simulator/kernels/named/emulation.h"

namespace vramstow::simulator {

inline constexpr int kDimensionsMax = 25;  // PyTorch's MAX_DIMS

// Dimension 0 runs fastest.
struct Shape {
  int dimensions = 0;
  uint64_t sizes[kDimensionsMax] = {};

  // A run of `count` elements.
  static Shape Row(uint64_t count) { return {.dimensions = 1, .sizes = {count}}; }
  uint64_t Elements() const;
};

// A tensor: an address, and how far apart its elements are in each dimension.
struct Operand {
  uint64_t address = 0;
  Element element = Element::kNone;  // as it lies in memory
  int64_t strides[kDimensionsMax] = {};

  // The lowest and, exclusively, the highest address that it touches in `shape`.
  uint64_t Begin(const Shape& shape) const;
  uint64_t End(const Shape& shape) const;
};

// Calls f(offset, run) for each run of dimension 0, with the offset of its first element in bytes.
template <typename F>
void ForEachRun(const Shape& shape, const Operand& operand, F&& f) {
  int64_t offset = 0;
  uint64_t index[kDimensionsMax] = {};
  const uint64_t run = shape.dimensions == 0 ? 1 : shape.sizes[0];
  while (true) {
    f(offset, run);
    int dimension = 1;
    for (; dimension < shape.dimensions; ++dimension) {
      offset += operand.strides[dimension];
      if (++index[dimension] < shape.sizes[dimension]) break;
      offset -= operand.strides[dimension] * static_cast<int64_t>(index[dimension]);
      index[dimension] = 0;
    }
    if (dimension >= shape.dimensions) return;
  }
}

// PyTorch's OffsetCalculator<1> with 32-bit indices: a struct of the number of dimensions, the
// sizes with their reciprocals, and the strides in bytes. False: no such struct, or not `count`
// elements.
bool ReadOffsetCalculator(const char* bytes, uint64_t count, Shape* shape, Operand* out);

}  // namespace vramstow::simulator

#endif  // VRAMSTOW_SIMULATOR_KERNELS_NAMED_LOOP_H_
