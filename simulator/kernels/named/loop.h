// Loops over tensors of the same shape: what all elementwise kernels come down to.
//
// Ownership: a value; nothing is kept. Threads: no state. Errors: Outcome. Units: bytes.
#ifndef VRAMSTOW_SIMULATOR_KERNELS_NAMED_LOOP_H_
#define VRAMSTOW_SIMULATOR_KERNELS_NAMED_LOOP_H_

#include "simulator/kernels/named/emulation.h"
#include "simulator/kernels/named/operation.h"

namespace vramstow::simulator {

inline constexpr int kDimensionsMax = 25;  // PyTorch's MAX_DIMS

// A shape with strides for several operands; dimension 0 runs fastest.
struct Shape {
  int dimensions = 0;
  uint64_t sizes[kDimensionsMax] = {};

  // A run of `count` elements.
  static Shape Row(uint64_t count) { return {.dimensions = 1, .sizes = {count}}; }
  uint64_t Elements() const;
};

// One operand: an address, and how far apart its elements are in each dimension.
struct Operand {
  uint64_t address = 0;
  Element element = Element::kNone;  // as it lies in memory
  int64_t strides[kDimensionsMax] = {};

  static Operand Row(uint64_t address, Element element) {
    return {.address = address,
            .element = element,
            .strides = {static_cast<int64_t>(BytesOf(element))}};
  }
  // The lowest and, exclusively, the highest address that it touches in `shape`.
  uint64_t Begin(const Shape& shape) const;
  uint64_t End(const Shape& shape) const;
};

// Calls f(offsets, run) for each run of dimension 0, `offsets` being one byte offset for each of
// `count` operands.
template <typename F>
void ForEachRun(const Shape& shape, const Operand* operands, int count, F&& f) {
  int64_t offsets[kInputsMax + 1] = {};
  uint64_t index[kDimensionsMax] = {};
  const uint64_t run = shape.dimensions == 0 ? 1 : shape.sizes[0];
  while (true) {
    f(offsets, run);
    int dimension = 1;
    for (; dimension < shape.dimensions; ++dimension) {
      for (int i = 0; i < count; ++i) offsets[i] += operands[i].strides[dimension];
      if (++index[dimension] < shape.sizes[dimension]) break;
      for (int i = 0; i < count; ++i) {
        offsets[i] -= operands[i].strides[dimension] * static_cast<int64_t>(index[dimension]);
      }
      index[dimension] = 0;
    }
    if (dimension >= shape.dimensions) return;
  }
}

// operands[0] = operation(operands[1], …), element by element. `functor` is the functor object.
Outcome RunLoop(const Operation& operation, const char* functor, const Shape& shape,
                const Operand* operands, const EmulationLimits& limits, KernelMemory* memory);

// PyTorch's OffsetCalculator<N> with 32-bit indices: a struct of the number of dimensions, the
// sizes with their reciprocals, and the strides in bytes.
size_t OffsetCalculatorBytes(int operands);
// False: no such struct, or too few elements for `count`. Strides go to operands[first…].
bool ReadOffsetCalculator(const char* bytes, int operands, uint64_t count, Shape* shape,
                          Operand* out);

}  // namespace vramstow::simulator

#endif  // VRAMSTOW_SIMULATOR_KERNELS_NAMED_LOOP_H_
