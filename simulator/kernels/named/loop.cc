#include "simulator/kernels/named/loop.h"

#include <algorithm>
#include <cstring>

namespace vramstow::simulator {
namespace {

constexpr size_t kChunk = 512;  // elements computed at a time

// Through another type and back, as a kernel that converts on load or store would.
template <typename T>
void Narrow(Element element, T* values, size_t count) {
  char bytes[kChunk * 8];
  const auto stride = static_cast<int64_t>(BytesOf(element));
  StoreElements(element, values, count, bytes, stride);
  LoadElements(element, bytes, stride, count, values);
}

template <typename T>
class Loop {
 public:
  Loop(const Operation& operation, const char* functor, const Operand* operands, char* const* bases)
      : operation_(operation),
        values_(ReadFunctor<T>(operation, functor)),
        operands_(operands),
        bases_(bases) {
    if (operation.fixed_input >= 0) {
      const T value = values_.scalars[operation.fixed_scalar];
      std::fill_n(buffers_[operation.fixed_input], kChunk, value);
    }
  }

  void Run(const int64_t* offsets, uint64_t run) {
    for (uint64_t at = 0; at < run; at += kChunk) {
      Chunk(offsets, at, static_cast<size_t>(std::min<uint64_t>(kChunk, run - at)));
    }
  }

 private:
  char* Place(int operand, const int64_t* offsets, uint64_t at) const {
    return bases_[operand] + offsets[operand] +
           operands_[operand].strides[0] * static_cast<int64_t>(at);
  }

  void Chunk(const int64_t* offsets, uint64_t at, size_t count) {
    const T* in[kInputsMax] = {buffers_[0], buffers_[1], buffers_[2], buffers_[3]};
    int slot = 0;
    for (size_t i = 0; i < operation_.inputs.size(); ++i, ++slot) {
      if (slot == operation_.fixed_input) ++slot;
      if (slot >= kInputsMax) return;
      const auto operand = static_cast<int>(i) + 1;
      const Element element = operands_[operand].element;
      LoadElements(element, Place(operand, offsets, at), operands_[operand].strides[0], count,
                   buffers_[slot]);
      if (element != operation_.inputs[i]) Narrow(operation_.inputs[i], buffers_[slot], count);
    }
    Apply(operation_.op, values_, in, result_, count);
    if (operands_[0].element != operation_.output) Narrow(operation_.output, result_, count);
    StoreElements(operands_[0].element, result_, count, Place(0, offsets, at),
                  operands_[0].strides[0]);
  }

  const Operation& operation_;
  const FunctorValues<T> values_;
  const Operand* operands_;
  char* const* bases_;
  // Not initialised: each chunk writes what it reads.
  T buffers_[kInputsMax][kChunk];
  T result_[kChunk];
};

template <typename T>
void RunAs(const Operation& operation, const char* functor, const Shape& shape,
           const Operand* operands, char* const* bases) {
  Loop<T> loop(operation, functor, operands, bases);
  ForEachRun(shape, operands, static_cast<int>(operation.inputs.size()) + 1,
             [&](const int64_t* offsets, uint64_t run) { loop.Run(offsets, run); });
}

// Copies of rows without conversion need no numbers.
bool IsPlainCopy(const Operation& operation, const Operand* operands) {
  const Element element = operands[0].element;
  const auto bytes = static_cast<int64_t>(BytesOf(element));
  return operation.op == Op::kCopy && operands[1].element == element &&
         operation.output == element && operands[0].strides[0] == bytes &&
         operands[1].strides[0] == bytes;
}

}  // namespace

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

Outcome RunLoop(const Operation& operation, const char* functor, const Shape& shape,
                const Operand* operands, const EmulationLimits& limits, KernelMemory* memory) {
  const uint64_t count = shape.Elements();
  if (count == 0) return Outcome::kDone;
  const size_t total = operation.inputs.size() + 1;
  uint64_t element_bytes = 0;
  for (size_t i = 0; i < total; ++i) element_bytes += BytesOf(operands[i].element);
  if (element_bytes == 0) return Outcome::kNotUnderstood;
  if (count > limits.bytes / element_bytes) return Outcome::kTooLarge;

  char* bases[kInputsMax + 1] = {};
  for (size_t i = 0; i < total; ++i) {
    const uint64_t begin = operands[i].Begin(shape);
    char* base = memory->At(begin, operands[i].End(shape) - begin, i == 0);
    if (base == nullptr) return Outcome::kIllegalAddress;
    bases[i] = base + (operands[i].address - begin);
  }
  if (!memory->Begin()) return Outcome::kUncomputed;
  if (total == 2 && IsPlainCopy(operation, operands)) {
    const size_t bytes = BytesOf(operands[0].element);
    ForEachRun(shape, operands, 2, [&](const int64_t* offsets, uint64_t run) {
      memmove(bases[0] + offsets[0], bases[1] + offsets[1], run * bytes);
    });
    return Outcome::kDone;
  }
  if (operation.compute == Element::kFloat) {
    RunAs<float>(operation, functor, shape, operands, bases);
  } else if (operation.compute == Element::kDouble) {
    RunAs<double>(operation, functor, shape, operands, bases);
  } else {
    RunAs<int64_t>(operation, functor, shape, operands, bases);
  }
  return Outcome::kDone;
}

size_t OffsetCalculatorBytes(int operands) {
  return 4 + (12 + 4 * static_cast<size_t>(operands)) * kDimensionsMax;
}

bool ReadOffsetCalculator(const char* bytes, int operands, uint64_t count, Shape* shape,
                          Operand* out) {
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
    for (int j = 0; j < operands; ++j) {
      uint32_t stride = 0;
      memcpy(&stride, strides + static_cast<size_t>(4) * (i * operands + j), 4);
      out[j].strides[i] = stride;
    }
  }
  return shape->Elements() == count;
}

}  // namespace vramstow::simulator
