// Iterates over the elements of a tensor with strides.
//
// Ownership: values; retains nothing. Threads: no state. Errors: returns false. Units: bytes.
#ifndef VRAMSTOW_SIMULATOR_KERNELS_NAMED_LOOP_H_
#define VRAMSTOW_SIMULATOR_KERNELS_NAMED_LOOP_H_

#include "simulator/kernels/named/element.h"
#include "simulator/kernels/named/emulation.h"

namespace vramstow::simulator {

inline constexpr int kDimensionsMax = 25;  // PyTorch's MAX_DIMS

// The sizes of a tensor; dimension 0 varies fastest.
struct Shape {
  int dimensions = 0;
  uint64_t sizes[kDimensionsMax] = {};

  // Returns the shape of `count` elements in one dimension.
  static Shape Row(uint64_t count) { return {.dimensions = 1, .sizes = {count}}; }
  uint64_t Elements() const;
};

// A tensor: its address, and the distance between its elements in each dimension.
struct Operand {
  uint64_t address = 0;
  Element element = Element::kNone;  // as it lies in memory
  int64_t strides[kDimensionsMax] = {};

  // The lowest address of the tensor in `shape`, and the end of its highest element.
  uint64_t Begin(const Shape& shape) const;
  uint64_t End(const Shape& shape) const;
};

// Calls f(offset, run) for each row of dimension 0, with the offset of its first element in bytes.
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

// Reads PyTorch's OffsetCalculator<1> with 32-bit indices: a struct of the number of dimensions,
// the sizes with their reciprocals, and the strides in bytes. Returns false if the bytes are not
// such a struct, or its sizes do not multiply to `count`.
bool ReadOffsetCalculator(const char* bytes, uint64_t count, Shape* shape, Operand* out);

}  // namespace vramstow::simulator

#endif  // VRAMSTOW_SIMULATOR_KERNELS_NAMED_LOOP_H_
