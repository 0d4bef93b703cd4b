// Fused optimizers: Adam, AdamW, SGD.
//
// Source: fused_adam_utils.cuh and FusedSgdKernel.cu in ATen/native/cuda of PyTorch 2.15.
#include <algorithm>
#include <cmath>

#include "simulator/kernels/named/kernels.h"
#include "simulator/kernels/named/tensor_list.h"

namespace vramstow::simulator {
namespace {

// A float on the device whose address is an argument; `otherwise` where that is null.
bool ReadFloat(const KernelLaunch& launch, KernelMemory* memory, size_t argument, double otherwise,
               double* value) {
  const auto address = launch.Get<uint64_t>(argument, 0);
  *value = otherwise;
  if (address == 0) return true;
  const char* at = memory->At(address, 4, false);
  if (at != nullptr) LoadElements(Element::kFloat, at, 0, 1, value);
  return at != nullptr;
}

// (lists of parameters, gradients, averages, averages of squares [, their maxima] with the steps,
// functor, the address of the rate or null, rate, beta1, beta2, decay, epsilon, maximize, the
// addresses of the gradients' scale and of whether infinities were found, or null)
class AdamEmulation : public Emulation {
 public:
  AdamEmulation(Element element, size_t depth, bool decoupled)
      : Emulation({{TensorListLayout(depth, 8, true).bytes, 8},
                   {1, 1},
                   {8, 8},
                   {8, 8},
                   {8, 8},
                   {8, 8},
                   {8, 8},
                   {8, 8},
                   {1, 1},
                   {8, 8},
                   {8, 8}}),
        layout_(depth, 8, true),
        element_(element),
        decoupled_(decoupled) {}

  Outcome Run(const KernelLaunch& launch, KernelMemory* memory) const override {
    return RunParts(launch, layout_, BytesOf(element_),
                    [&](const ListPart& part) { return Update(launch, part, memory); });
  }

 private:
  Outcome Update(const KernelLaunch& launch, const ListPart& part, KernelMemory* memory) const {
    const bool scaled = launch.Get<uint64_t>(9, 0) != 0;
    PartOfLists lists(launch, layout_, part, element_);
    double rate = 0;
    double scale = 1;
    double infinite = 0;
    double step = 0;
    const char* step_at =
        memory->At(launch.Get<uint64_t>(0, layout_.values + 8 * part.tensor), 4, false);
    if (step_at == nullptr || !ReadFloat(launch, memory, 2, launch.Get<double>(3, 0), &rate) ||
        !ReadFloat(launch, memory, 9, 1, &scale) || !ReadFloat(launch, memory, 10, 0, &infinite) ||
        !lists.Locate(memory, scaled ? 0x1F : 0x1D)) {
      return Outcome::kIllegalAddress;
    }
    LoadElements(Element::kFloat, step_at, 0, 1, &step);
    if (!memory->Begin()) return Outcome::kUncomputed;
    if (infinite == 1) return Outcome::kDone;
    const auto beta1 = launch.Get<double>(4, 0);
    const auto beta2 = launch.Get<double>(5, 0);
    const auto decay = launch.Get<double>(6, 0);
    const auto epsilon = launch.Get<double>(7, 0);
    const double size = rate / (1 - std::pow(beta1, step));
    const double root = std::sqrt(1 - std::pow(beta2, step));
    const double sign = launch.Get<uint8_t>(8, 0) != 0 ? -1 : 1;
    for (uint64_t i = 0; i < lists.count(); ++i) {
      double parameter = lists.Get(0, i);
      double gradient = lists.Get(1, i) / scale;
      if (scaled) lists.Set(1, i, gradient);
      gradient *= sign;
      if (decoupled_) {
        parameter -= rate * decay * parameter;
      } else {
        gradient += parameter * decay;
      }
      const double average = beta1 * lists.Get(2, i) + (1 - beta1) * gradient;
      const double square = beta2 * lists.Get(3, i) + (1 - beta2) * gradient * gradient;
      double under = square;
      if (layout_.depth == 5) {
        under = std::max(lists.Get(4, i), square);
        lists.Set(4, i, under);
      }
      lists.Set(0, i, parameter - size * average / (std::sqrt(under) / root + epsilon));
      lists.Set(2, i, average);
      lists.Set(3, i, square);
    }
    return Outcome::kDone;
  }

  TensorListLayout layout_;
  Element element_;
  bool decoupled_;  // the decay is not part of the gradient: AdamW
};

// (lists of parameters, gradients [, momenta], functor, decay, momentum, the address of the rate or
// null, rate, dampening, nesterov, maximize, whether it is the first step, the addresses of scale
// and infinities)
class DescentEmulation : public Emulation {
 public:
  DescentEmulation(Element element, size_t depth)
      : Emulation({{TensorListLayout(depth, 0, true).bytes, 8},
                   {1, 1},
                   {8, 8},
                   {8, 8},
                   {8, 8},
                   {8, 8},
                   {8, 8},
                   {1, 1},
                   {1, 1},
                   {1, 1},
                   {8, 8},
                   {8, 8}}),
        layout_(depth, 0, true),
        element_(element) {}

  Outcome Run(const KernelLaunch& launch, KernelMemory* memory) const override {
    return RunParts(launch, layout_, BytesOf(element_),
                    [&](const ListPart& part) { return Update(launch, part, memory); });
  }

 private:
  Outcome Update(const KernelLaunch& launch, const ListPart& part, KernelMemory* memory) const {
    const bool scaled = launch.Get<uint64_t>(10, 0) != 0;
    PartOfLists lists(launch, layout_, part, element_);
    double rate = 0;
    double scale = 1;
    double infinite = 0;
    if (!ReadFloat(launch, memory, 4, launch.Get<double>(5, 0), &rate) ||
        !ReadFloat(launch, memory, 10, 1, &scale) || !ReadFloat(launch, memory, 11, 0, &infinite) ||
        !lists.Locate(memory, scaled ? 7 : 5)) {
      return Outcome::kIllegalAddress;
    }
    if (!memory->Begin()) return Outcome::kUncomputed;
    if (infinite == 1) return Outcome::kDone;
    const auto decay = launch.Get<double>(2, 0);
    const auto momentum = launch.Get<double>(3, 0);
    const auto dampening = launch.Get<double>(6, 0);
    const bool nesterov = launch.Get<uint8_t>(7, 0) != 0;
    const double sign = launch.Get<uint8_t>(8, 0) != 0 ? -1 : 1;
    const bool first = launch.Get<uint8_t>(9, 0) != 0;
    for (uint64_t i = 0; i < lists.count(); ++i) {
      const double parameter = lists.Get(0, i);
      double gradient = lists.Get(1, i) / scale;
      if (scaled) lists.Set(1, i, gradient);
      gradient = gradient * sign + decay * parameter;
      if (layout_.depth > 2) {
        const double moved =
            first ? gradient : momentum * lists.Get(2, i) + (1 - dampening) * gradient;
        lists.Set(2, i, moved);
        gradient = nesterov ? gradient + momentum * moved : moved;
      }
      lists.Set(0, i, parameter - rate * gradient);
    }
    return Outcome::kDone;
  }

  TensorListLayout layout_;
  Element element_;
};

bool IsFloating(Element element) {
  return element == Element::kFloat || element == Element::kDouble || element == Element::kHalf ||
         element == Element::kBfloat16;
}

size_t DepthOf(std::string_view text) {
  return text.size() == 1 && text[0] >= '1' && text[0] <= '5' ? static_cast<size_t>(text[0] - '0')
                                                              : 0;
}

// multi_tensor_apply_kernel<metadata, Functor<element, depth, …>, types of the arguments…>
EmulationPointer MakeFused(const TemplateName& kernel) {
  const TemplateName functor = ParseTemplate(kernel.arguments[1]);
  const auto& types = functor.arguments;
  if (types.size() < 2 || !IsFloating(ElementNamed(types[0]))) return nullptr;
  const Element element = ElementNamed(types[0]);
  const size_t arguments = kernel.arguments.size() - 2;
  if (functor.head == "FusedAdamMathFunctor" && types.size() == 4 && arguments == 9) {
    const size_t depth = DepthOf(types[1]);
    if (depth != (types[3] == "true" ? 5 : 4)) return nullptr;
    return std::make_unique<AdamEmulation>(element, depth, types[2].ends_with(")1"));
  }
  if (functor.head == "FusedSgdMathFunctor" && types.size() == 2 && arguments == 10) {
    const size_t depth = DepthOf(types[1]);
    if (depth != 2 && depth != 3) return nullptr;
    return std::make_unique<DescentEmulation>(element, depth);
  }
  return nullptr;
}

}  // namespace

EmulationPointer MakeOptimizer(const TemplateName& kernel) {
  const bool fused = kernel.head == "multi_tensor_apply_kernel" && kernel.arguments.size() >= 3;
  return fused ? MakeFused(kernel) : nullptr;
}

}  // namespace vramstow::simulator
