// Kernels whose value depends on the index alone: arange, linspace.
//
// Source: elementwise_kernel_with_index in PyTorch's RangeFactories: (index n, F f, result* data).
// The element type is in none of the names: it is the place of the lambda in PyTorch's list of
// types, which is the same in all versions from 1.5 on.
#include "base/rounding.h"
#include "simulator/kernels/named/kernels.h"
#include "simulator/kernels/named/loop.h"

namespace vramstow::simulator {
namespace {

// AT_DISPATCH_ALL_TYPES_AND2(Half, BFloat16) and AT_DISPATCH_FLOATING_TYPES, by lambda number.
constexpr Element kAllTypes[] = {
    Element::kNone,  Element::kUint8,  Element::kInt8,  Element::kInt32, Element::kInt64,
    Element::kInt16, Element::kDouble, Element::kFloat, Element::kHalf,  Element::kBfloat16};
constexpr Element kFractions[] = {Element::kNone, Element::kDouble, Element::kFloat};

struct Line {
  Element element = Element::kNone;
  Element compute = Element::kNone;  // of the members of the functor
  bool two_ended = false;            // linspace: {start, end, steps, step, halfway}
};

template <typename T>
void FillLine(const Line& line, const KernelLaunch& launch, uint64_t count, char* to) {
  const auto start = launch.Get<T>(1, 0);
  const auto step = launch.Get<T>(1, line.two_ended ? RoundUp(2 * sizeof(T), 8) + 8 : sizeof(T));
  const auto end = launch.Get<T>(1, sizeof(T));
  const auto bytes = static_cast<int64_t>(BytesOf(line.element));
  for (uint64_t i = 0; i < count; ++i) {
    T value;
    if constexpr (std::is_integral_v<T>) {
      value = static_cast<T>(static_cast<uint64_t>(start) + static_cast<uint64_t>(step) * i);
    } else {
      value = start + step * static_cast<T>(i);
      if (line.two_ended && i >= count / 2) value = end - step * static_cast<T>(count - i - 1);
    }
    StoreElements(line.element, &value, 1, to + static_cast<int64_t>(i) * bytes, bytes);
  }
}

class LineEmulation : public Emulation {
 public:
  LineEmulation(const Line& line, size_t index_bytes)
      : Emulation({{index_bytes, index_bytes},
                   {(line.two_ended ? 24 : 0) + 2 * BytesOf(line.compute), 8},
                   {8, 8}}),
        line_(line),
        index_bytes_(index_bytes) {}

  Outcome Run(const KernelLaunch& launch, KernelMemory* memory) const override {
    const int64_t count = index_bytes_ == 4 ? launch.Get<int32_t>(0, 0) : launch.Get<int64_t>(0, 0);
    if (count <= 0) return Outcome::kNotUnderstood;
    const uint64_t bytes = BytesOf(line_.element);
    if (static_cast<uint64_t>(count) > launch.limits.bytes / bytes) return Outcome::kTooLarge;
    char* to = memory->At(launch.Get<uint64_t>(2, 0), count * bytes, true);
    if (to == nullptr) return Outcome::kIllegalAddress;
    if (!memory->Begin()) return Outcome::kUncomputed;
    if (line_.compute == Element::kFloat) {
      FillLine<float>(line_, launch, count, to);
    } else if (line_.compute == Element::kDouble) {
      FillLine<double>(line_, launch, count, to);
    } else {
      FillLine<int64_t>(line_, launch, count, to);
    }
    return Outcome::kDone;
  }

 private:
  Line line_;
  size_t index_bytes_;
};

}  // namespace

EmulationPointer MakeIndexed(const TemplateName& kernel) {
  if (kernel.head != "elementwise_kernel_with_index" || kernel.arguments.size() != 2) {
    return nullptr;
  }
  const size_t index_bytes = BytesOf(ElementNamed(kernel.arguments[0]));
  const FunctorName functor = ParseFunctor(kernel.arguments[1]);
  const auto number = static_cast<size_t>(functor.outer_number);
  Line line;
  if (functor.head == "arange_cuda_out" && number < std::size(kAllTypes)) {
    line.element = kAllTypes[number];
  } else if (functor.head == "linspace_cuda_out" && functor.first_number == 2 &&
             number < std::size(kFractions)) {
    line.element = kFractions[number];
    line.two_ended = true;
  }
  line.compute = ComputeType(line.element);
  if (line.element == Element::kNone || (index_bytes != 4 && index_bytes != 8)) return nullptr;
  return std::make_unique<LineEmulation>(line, index_bytes);
}

}  // namespace vramstow::simulator
