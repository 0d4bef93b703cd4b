// Indexing with tensors of indices: x[i, j] and x[i, j] = y.
//
// Source: gpu_index_kernel in ATen/native/cuda/IndexKernel.cu of PyTorch 2.15: (n, a lambda that
// holds an offset calculator for the target, the source and the indices; the addresses of target
// and source; how many index tensors there are, their addresses, and sizes and strides, in bytes,
// of the dimensions that they choose from).
#include "simulator/kernels/named/kernels.h"
#include "simulator/kernels/named/loop.h"

namespace vramstow::simulator {
namespace {

class IndexEmulation : public Emulation {
 public:
  IndexEmulation(size_t element, bool puts)
      : Emulation({{8, 8}, {kBytes, 8}}), element_(element), puts_(puts) {}

  Outcome Run(const KernelLaunch& launch, KernelMemory* memory) const override {
    const auto count = launch.Get<int64_t>(0, 0);
    const auto indices = launch.Get<int32_t>(1, kCount);
    Shape shape;
    Operand operands[3];
    if (count <= 0 || indices <= 0 || indices > kDimensionsMax ||
        !ReadOffsetCalculator((*launch.arguments)[1], 3, count, &shape, operands)) {
      return Outcome::kNotUnderstood;
    }
    if (static_cast<uint64_t>(count) > launch.limits.bytes / (2 * element_ + 8 * indices)) {
      return Outcome::kTooLarge;
    }
    Chosen chosen[kDimensionsMax];
    uint64_t reach = 0;
    for (int i = 0; i < indices; ++i) {
      chosen[i].size = launch.Get<int64_t>(1, kSizes + 8 * i);
      chosen[i].stride = launch.Get<int64_t>(1, kStrides + 8 * i);
      constexpr int64_t kMost = int64_t{1} << 31;
      if (chosen[i].size <= 0 || chosen[i].stride < 0 || chosen[i].size >= kMost ||
          chosen[i].stride >= kMost) {
        return Outcome::kNotUnderstood;
      }
      reach += static_cast<uint64_t>((chosen[i].size - 1) * chosen[i].stride);
      chosen[i].bytes = Locate(launch.Get<uint64_t>(1, kIndices + 8 * i), shape, operands[2], 8, 0,
                               false, memory);
      if (chosen[i].bytes == nullptr) return Outcome::kIllegalAddress;
    }
    char* to = Locate(launch.Get<uint64_t>(1, kTarget), shape, operands[0], element_,
                      puts_ ? reach : 0, true, memory);
    const char* from = Locate(launch.Get<uint64_t>(1, kSource), shape, operands[1], element_,
                              puts_ ? 0 : reach, false, memory);
    if (to == nullptr || from == nullptr) return Outcome::kIllegalAddress;
    if (!memory->Begin()) return Outcome::kUncomputed;
    return Move(shape, operands, chosen, indices, to, from);
  }

 private:
  static constexpr size_t kTarget = 608;  // behind the offset calculator
  static constexpr size_t kSource = kTarget + 8;
  static constexpr size_t kCount = kSource + 8;
  static constexpr size_t kIndices = kCount + 8;
  static constexpr size_t kSizes = kIndices + 8 * kDimensionsMax;
  static constexpr size_t kStrides = kSizes + 8 * kDimensionsMax;
  static constexpr size_t kBytes = kStrides + 8 * kDimensionsMax + 8;

  struct Chosen {
    const char* bytes = nullptr;
    int64_t size = 0;
    int64_t stride = 0;
  };

  static char* Locate(uint64_t address, const Shape& shape, const Operand& operand, size_t element,
                      uint64_t more, bool write, KernelMemory* memory) {
    uint64_t bytes = element + more;
    for (int i = 0; i < shape.dimensions; ++i) {
      bytes += (shape.sizes[i] - 1) * static_cast<uint64_t>(operand.strides[i]);
    }
    return memory->At(address, bytes, write);
  }

  Outcome Move(const Shape& shape, const Operand* operands, const Chosen* chosen, int indices,
               char* to, const char* from) const {
    Outcome outcome = Outcome::kDone;
    ForEachRun(shape, operands, 3, [&](const int64_t* offsets, uint64_t run) {
      for (uint64_t i = 0; i < run && outcome == Outcome::kDone; ++i) {
        const auto at = static_cast<int64_t>(i);
        int64_t moved = 0;
        for (int j = 0; j < indices; ++j) {
          int64_t index = 0;
          memcpy(&index, chosen[j].bytes + offsets[2] + operands[2].strides[0] * at, 8);
          if (index < -chosen[j].size || index >= chosen[j].size) {
            outcome = Outcome::kAssertion;
            return;
          }
          moved += (index < 0 ? index + chosen[j].size : index) * chosen[j].stride;
        }
        memcpy(to + offsets[0] + operands[0].strides[0] * at + (puts_ ? moved : 0),
               from + offsets[1] + operands[1].strides[0] * at + (puts_ ? 0 : moved), element_);
      }
    });
    return outcome;
  }

  size_t element_;
  bool puts_;
};

}  // namespace

// index_elementwise_kernel<threads, work, gpu_index_kernel<F>(…)::{lambda(int)#1}>, F being a
// lambda in index_kernel_impl<OpaqueType<bytes>> or index_put_kernel_impl<…>.
EmulationPointer MakeIndex(const TemplateName& kernel) {
  if (kernel.head != "index_elementwise_kernel" || kernel.arguments.size() != 3) return nullptr;
  const FunctorName loop = ParseFunctor(kernel.arguments[2]);
  if (loop.head != "gpu_index_kernel" || loop.arguments.size() != 1) return nullptr;
  const FunctorName functor = ParseFunctor(loop.arguments[0]);
  const bool puts = functor.head == "index_put_kernel_impl";
  if ((!puts && functor.head != "index_kernel_impl") || functor.arguments.size() != 1) {
    return nullptr;
  }
  const size_t element = BytesOf(ElementNamed(functor.arguments[0]));
  return element == 0 ? nullptr : std::make_unique<IndexEmulation>(element, puts);
}

}  // namespace vramstow::simulator
