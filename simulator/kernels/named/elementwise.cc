// PyTorch's elementwise kernels: a functor applied to tensors of one shape.
//
// Source: ATen/native/cuda/CUDALoops.cuh and MemoryAccess.cuh of PyTorch 2.15. Three loops:
// vectorized (contiguous, no conversion), unrolled (contiguous, with conversion), and the general
// one, whose argument is a lambda that holds an OffsetCalculator, the addresses, the functor and,
// with conversion, the types.
#include <algorithm>

#include "base/rounding.h"
#include "simulator/kernels/named/kernels.h"
#include "simulator/kernels/named/loop.h"

namespace vramstow::simulator {
namespace {

// The parts of a loop that come with the launch.
class ElementwiseEmulation : public Emulation {
 public:
  ElementwiseEmulation(std::vector<Argument> arguments, Operation operation)
      : Emulation(std::move(arguments)), operation_(std::move(operation)) {}

 protected:
  int operands() const { return static_cast<int>(operation_.inputs.size()) + 1; }
  const Operation& operation() const { return operation_; }

  // Types as the functor has them.
  void SetElements(Operand* operands) const {
    operands[0].element = operation_.output;
    std::transform(operation_.inputs.begin(), operation_.inputs.end(), operands + 1, operands + 1,
                   [](Element element, Operand operand) {
                     operand.element = element;
                     return operand;
                   });
  }

 private:
  Operation operation_;
};

// (int n, F f, std::array<char*, N> data)
class VectorizedEmulation : public ElementwiseEmulation {
 public:
  explicit VectorizedEmulation(const Operation& operation)
      : ElementwiseEmulation({{4, 4},
                              {operation.bytes, operation.alignment},
                              {8 * (operation.inputs.size() + 1), 8}},
                             operation) {}

  Outcome Run(const KernelLaunch& launch, KernelMemory* memory) const override {
    const auto count = launch.Get<int32_t>(0, 0);
    if (count <= 0) return Outcome::kNotUnderstood;
    Operand rows[kInputsMax + 1];
    SetElements(rows);
    for (int i = 0; i < operands(); ++i) {
      rows[i] = Operand::Row(launch.Get<uint64_t>(2, 8 * i), rows[i].element);
    }
    return RunLoop(operation(), (*launch.arguments)[1], Shape::Row(count), rows, launch.limits,
                   memory);
  }
};

// (int n, F f, std::array<char*, N> data, two offset calculators without members, a loader and a
// storer that hold types and element sizes, or nothing)
class UnrolledEmulation : public ElementwiseEmulation {
 public:
  UnrolledEmulation(const Operation& operation, bool converts)
      : ElementwiseEmulation(Arguments(operation, converts), operation), converts_(converts) {}

  Outcome Run(const KernelLaunch& launch, KernelMemory* memory) const override {
    const auto count = launch.Get<int32_t>(0, 0);
    if (count <= 0) return Outcome::kNotUnderstood;
    Operand rows[kInputsMax + 1];
    SetElements(rows);
    for (int i = 0; i < operands(); ++i) {
      Element element = rows[i].element;
      if (converts_) {
        element = ElementNumbered(i == 0 ? launch.Get<int8_t>(6, 0) : launch.Get<int8_t>(5, i - 1));
      }
      if (element == Element::kNone) return Outcome::kNotUnderstood;
      rows[i] = Operand::Row(launch.Get<uint64_t>(2, 8 * i), element);
    }
    return RunLoop(operation(), (*launch.arguments)[1], Shape::Row(count), rows, launch.limits,
                   memory);
  }

 private:
  static std::vector<Argument> Arguments(const Operation& operation, bool converts) {
    const size_t inputs = std::max<size_t>(operation.inputs.size(), 1);
    const Argument loader =
        converts ? Argument{RoundUp(inputs, 4) + 4 * inputs, 4} : Argument{1, 1};
    const Argument storer = converts ? Argument{8, 4} : Argument{1, 1};
    return {{4, 4},
            {operation.bytes, operation.alignment},
            {8 * (operation.inputs.size() + 1), 8},
            {1, 1},
            {1, 1},
            loader,
            storer};
  }

  bool converts_;
};

// (int n, a lambda that holds offset calculator, addresses, functor, types)
class StridedEmulation : public ElementwiseEmulation {
 public:
  StridedEmulation(const Operation& operation, bool converts)
      : ElementwiseEmulation({{4, 4}, {Places(operation).bytes, 8}}, operation),
        converts_(converts),
        places_(Places(operation)) {}

  Outcome Run(const KernelLaunch& launch, KernelMemory* memory) const override {
    const auto count = launch.Get<int32_t>(0, 0);
    const char* lambda = (*launch.arguments)[1];
    Shape shape;
    Operand tensors[kInputsMax + 1];
    SetElements(tensors);
    if (count <= 0 || !ReadOffsetCalculator(lambda, operands(), count, &shape, tensors)) {
      return Outcome::kNotUnderstood;
    }
    for (int i = 0; i < operands(); ++i) {
      tensors[i].address = launch.Get<uint64_t>(1, places_.addresses + 8 * i);
      if (!converts_) continue;
      tensors[i].element = ElementNumbered(launch.Get<int8_t>(1, places_.types + i));
      if (tensors[i].element == Element::kNone) return Outcome::kNotUnderstood;
    }
    return RunLoop(operation(), lambda + places_.functor, shape, tensors, launch.limits, memory);
  }

 private:
  struct Layout {
    explicit Layout(const Operation& operation) {
      const size_t operands = operation.inputs.size() + 1;
      addresses = RoundUp(OffsetCalculatorBytes(static_cast<int>(operands)), 8);
      functor = RoundUp(addresses + 8 * operands, operation.alignment);
      types = functor + operation.bytes;
      bytes = RoundUp(types + operands, 8);
    }
    size_t addresses = 0;
    size_t functor = 0;
    size_t types = 0;
    size_t bytes = 0;
  };
  static Layout Places(const Operation& operation) { return Layout(operation); }

  bool converts_;
  Layout places_;
};

EmulationPointer MakeUnrolled(const TemplateName& kernel, const Operation& operation) {
  if (kernel.arguments.size() != 7 || !kernel.arguments[3].starts_with("TrivialOffsetCalculator") ||
      !kernel.arguments[4].starts_with("TrivialOffsetCalculator")) {
    return nullptr;
  }
  const bool loads = kernel.arguments[5].starts_with("LoadWithCast");
  const bool stores = kernel.arguments[6].starts_with("StoreWithCast");
  if (loads != stores) return nullptr;
  return std::make_unique<UnrolledEmulation>(operation, loads);
}

EmulationPointer MakeStrided(const TemplateName& kernel) {
  if (kernel.arguments.size() != 3) return nullptr;
  const TemplateName lambda = ParseTemplate(kernel.arguments[2]);
  const bool converts = lambda.head == "gpu_kernel_impl";
  if ((!converts && lambda.head != "gpu_kernel_impl_nocast") || lambda.arguments.size() != 1) {
    return nullptr;
  }
  Operation operation;
  if (!ParseOperation(lambda.arguments[0], &operation)) return nullptr;
  return std::make_unique<StridedEmulation>(operation, converts);
}

}  // namespace

EmulationPointer MakeElementwise(const TemplateName& kernel) {
  Operation operation;
  if (kernel.head == "elementwise_kernel") return MakeStrided(kernel);
  if (kernel.head == "vectorized_elementwise_kernel" && kernel.arguments.size() >= 3) {
    if (!ParseOperation(kernel.arguments[1], &operation)) return nullptr;
    return std::make_unique<VectorizedEmulation>(operation);
  }
  if (kernel.head == "unrolled_elementwise_kernel" && !kernel.arguments.empty()) {
    if (!ParseOperation(kernel.arguments[0], &operation)) return nullptr;
    return MakeUnrolled(kernel, operation);
  }
  return nullptr;
}

}  // namespace vramstow::simulator
