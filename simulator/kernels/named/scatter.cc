// gather, scatter, scatter_add: elements chosen along one dimension by a tensor of indices.
//
// Source: _cuda_scatter_gather_internal_kernel and _cuda_scatter_fill_internal_kernel in
// ATen/native/cuda/ScatterGatherKernel.cu of PyTorch 2.15: (n, a lambda that holds an offset
// calculator for the target, the source and the indices; the indices' address, how many elements
// the dimension has, the functor, the target's address, the dimension's stride in elements, the
// number of elements, the source's address). A fill has a value in place of the source.
#include <cstdlib>
#include <string>

#include "base/rounding.h"
#include "simulator/kernels/named/kernels.h"
#include "simulator/kernels/named/loop.h"

namespace vramstow::simulator {
namespace {

class ScatterEmulation : public Emulation {
 public:
  struct Form {
    size_t width = 0;                // bytes of an element
    Element added = Element::kNone;  // adds numbers of this type, instead of assigning
    Element index = Element::kInt64;
    bool scatters = false;  // the target is chosen, not the source
    bool fills = false;
  };

  explicit ScatterEmulation(const Form& form)
      : Emulation({{4, 4}, {Source(form) + 8, 8}}), form_(form) {}

  Outcome Run(const KernelLaunch& launch, KernelMemory* memory) const override {
    const auto count = launch.Get<int32_t>(0, 0);
    const size_t held = Held(form_);
    const auto size = launch.Get<int64_t>(1, held + 8);
    const auto step = launch.Get<int64_t>(1, held + 32);
    Shape shape;
    Operand operands[3];
    constexpr int64_t kMost = int64_t{1} << 31;
    if (count <= 0 || size <= 0 || step < 0 || size >= kMost || step >= kMost ||
        !ReadOffsetCalculator((*launch.arguments)[1], form_.fills ? 2 : 3,
                              static_cast<uint64_t>(count), &shape, operands)) {
      return Outcome::kNotUnderstood;
    }
    if (form_.fills) operands[2] = operands[1];
    if (static_cast<uint64_t>(count) > launch.limits.bytes / (2 * form_.width + 8)) {
      return Outcome::kTooLarge;
    }
    const uint64_t chosen = static_cast<uint64_t>((size - 1) * step) * form_.width;
    Places places;
    const uint64_t target = launch.Get<uint64_t>(1, held + 24);
    const uint64_t reach = Reach(shape, operands[0], form_.width) + (form_.scatters ? chosen : 0);
    // What is not chosen stays as it is, and a sum needs what is there.
    if (form_.scatters) memory->At(target, reach, false);
    places.to = memory->At(target, reach, true);
    places.indices = memory->At(launch.Get<uint64_t>(1, held),
                                Reach(shape, operands[2], BytesOf(form_.index)), false);
    places.from = (*launch.arguments)[1] + Source(form_);
    if (!form_.fills) {
      places.from =
          memory->At(launch.Get<uint64_t>(1, Source(form_)),
                     Reach(shape, operands[1], form_.width) + (form_.scatters ? 0 : chosen), false);
    }
    if (places.to == nullptr || places.indices == nullptr || places.from == nullptr) {
      return Outcome::kIllegalAddress;
    }
    if (!memory->Begin()) return Outcome::kUncomputed;
    return Move(shape, operands, places, size, step * static_cast<int64_t>(form_.width));
  }

 private:
  struct Places {
    char* to = nullptr;
    const char* from = nullptr;
    const char* indices = nullptr;
  };

  // Where the lambda holds what stands behind the offset calculator.
  static size_t Held(const Form& form) {
    return RoundUp(OffsetCalculatorBytes(form.fills ? 2 : 3), 8);
  }
  static size_t Source(const Form& form) { return Held(form) + 48; }

  static uint64_t Reach(const Shape& shape, const Operand& operand, size_t width) {
    uint64_t bytes = width;
    for (int i = 0; i < shape.dimensions; ++i) {
      bytes += (shape.sizes[i] - 1) * static_cast<uint64_t>(operand.strides[i]);
    }
    return bytes;
  }

  Outcome Move(const Shape& shape, const Operand* operands, const Places& places, int64_t size,
               int64_t step) const {
    Outcome outcome = Outcome::kDone;
    ForEachRun(shape, operands, 3, [&](const int64_t* offsets, uint64_t run) {
      for (uint64_t i = 0; i < run && outcome == Outcome::kDone; ++i) {
        const auto at = static_cast<int64_t>(i);
        int64_t index = 0;
        LoadElements(form_.index, places.indices + offsets[2] + operands[2].strides[0] * at, 0, 1,
                     &index);
        if (index < 0 || index >= size) {
          outcome = Outcome::kAssertion;
          return;
        }
        char* to = places.to + offsets[0] + operands[0].strides[0] * at;
        const char* from = places.from;
        if (!form_.fills) from += offsets[1] + operands[1].strides[0] * at;
        if (form_.scatters) {
          Put(to + index * step, from);
        } else {
          Put(to, from + index * step);
        }
      }
    });
    return outcome;
  }

  void Put(char* to, const char* from) const {
    if (form_.added == Element::kNone) {
      memcpy(to, from, form_.width);
    } else if (ComputeType(form_.added) == Element::kInt64) {
      Add<int64_t>(to, from);
    } else if (form_.added == Element::kDouble) {
      Add<double>(to, from);
    } else {
      Add<float>(to, from);
    }
  }

  template <typename T>
  void Add(char* to, const char* from) const {
    T a = 0;
    T b = 0;
    LoadElements(form_.added, to, 0, 1, &a);
    LoadElements(form_.added, from, 0, 1, &b);
    if constexpr (std::is_integral_v<T>) {
      a = static_cast<T>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
    } else {
      a += b;
    }
    StoreElements(form_.added, &a, 1, to, 0);
  }

  Form form_;
};

}  // namespace

// _scatter_gather_elementwise_kernel<threads, elements, internal_kernel<…>::operator()<F>(…)::…>
EmulationPointer MakeScatter(const TemplateName& kernel) {
  if (kernel.head != "_scatter_gather_elementwise_kernel" || kernel.arguments.size() != 3) {
    return nullptr;
  }
  const std::string_view lambda = kernel.arguments[2];
  const size_t call = lambda.find("::operator()<");
  if (call == std::string_view::npos) return nullptr;
  const TemplateName made = ParseTemplate(lambda.substr(0, call));
  const std::string_view rest = lambda.substr(call + 13);
  const std::string_view functor = rest.substr(0, rest.find('>'));
  ScatterEmulation::Form form;
  form.fills = made.head == "_cuda_scatter_fill_internal_kernel";
  const size_t first = form.fills ? 0 : 1;  // the element's type
  if ((!form.fills && made.head != "_cuda_scatter_gather_internal_kernel") ||
      made.arguments.size() != first + 2) {
    return nullptr;
  }
  form.scatters = form.fills || made.arguments[0] == "true";
  form.index = ElementNamed(made.arguments[first + 1]);
  if (form.index != Element::kInt64 && form.index != Element::kInt32) return nullptr;
  const TemplateName opaque = ParseTemplate(made.arguments[first]);
  const Element element = ElementNamed(made.arguments[first]);
  form.width = BytesOf(element);
  if (opaque.head == "OpaqueType" && opaque.arguments.size() == 1) {
    const std::string bytes(opaque.arguments[0]);
    form.width = strtoul(bytes.c_str(), nullptr, 10);
  }
  if (functor == "ReduceAdd") {
    form.added = element;
  } else if (functor != "TensorAssign") {
    return nullptr;
  }
  const bool known =
      form.width > 0 && form.width <= 8 && (functor == "TensorAssign" || element != Element::kNone);
  return known ? std::make_unique<ScatterEmulation>(form) : nullptr;
}

}  // namespace vramstow::simulator
