// Softmax and its logarithm, forwards and backwards.
//
// Source: PyTorch 2.15, ATen/native/cuda/PersistentSoftmax.cuh for rows of up to 2,048 elements:
// (out, in, rows, stride, elements, mask, …) and (out, gradient, result of the forward pass, rows,
// stride, elements, mask), where rows with a mask have no effect here; SoftMax.cu for longer rows,
// one for each block, and for other dimensions than the last.
#include <cmath>
#include <utility>

#include "simulator/kernels/named/kernels.h"
#include "simulator/kernels/named/loop.h"

namespace vramstow::simulator {
namespace {

struct Softmax {
  Element in = Element::kNone;
  Element out = Element::kNone;
  bool logarithm = false;
  bool backward = false;
  bool swapped = false;  // the result of the forward pass comes before the gradient
};

// Lines of numbers: `inner` lines lie side by side, `outer` times.
struct Lines {
  int64_t outer = 0;
  int64_t inner = 0;
  int64_t count = 0;  // of a line
};

class SoftmaxEmulation : public Emulation {
 protected:
  SoftmaxEmulation(const Softmax& softmax, std::vector<Argument> arguments)
      : Emulation(std::move(arguments)), softmax_(softmax) {}

  Outcome RunLines(const KernelLaunch& launch, KernelMemory* memory, const Lines& lines) const {
    constexpr int64_t kMost = int64_t{1} << 31;
    for (const int64_t size : {lines.outer, lines.inner, lines.count}) {
      if (size <= 0 || size >= kMost) return Outcome::kNotUnderstood;
    }
    const auto side = static_cast<uint64_t>(lines.outer) * static_cast<uint64_t>(lines.inner);
    if (side > launch.limits.bytes / 8 / static_cast<uint64_t>(lines.count)) {
      return Outcome::kTooLarge;
    }
    const uint64_t elements = side * static_cast<uint64_t>(lines.count);
    const size_t gradient = softmax_.swapped ? 2 : 1;
    char* out = memory->At(launch.Get<uint64_t>(0, 0), elements * BytesOf(softmax_.out), true);
    const char* in =
        memory->At(launch.Get<uint64_t>(gradient, 0), elements * BytesOf(softmax_.in), false);
    const char* result = in;
    if (softmax_.backward) {
      result =
          memory->At(launch.Get<uint64_t>(3 - gradient, 0), elements * BytesOf(softmax_.in), false);
    }
    if (out == nullptr || in == nullptr || result == nullptr) return Outcome::kIllegalAddress;
    if (!memory->Begin()) return Outcome::kUncomputed;
    std::vector<double> x(static_cast<size_t>(lines.count));
    std::vector<double> y(x.size());
    const auto bytes = static_cast<int64_t>(BytesOf(softmax_.out));
    for (int64_t line = 0; line < lines.outer * lines.inner; ++line) {
      const int64_t at = line / lines.inner * lines.inner * lines.count + line % lines.inner;
      Load(in, at, lines.inner, &x);
      if (softmax_.backward) {
        Load(result, at, lines.inner, &y);
        Backward(y, &x);
      } else {
        Forward(&x);
      }
      StoreElements(softmax_.out, x.data(), x.size(), out + at * bytes, lines.inner * bytes);
    }
    return Outcome::kDone;
  }

 private:
  void Load(const char* from, int64_t at, int64_t stride, std::vector<double>* to) const {
    const auto bytes = static_cast<int64_t>(BytesOf(softmax_.in));
    LoadElements(softmax_.in, from + at * bytes, stride * bytes, to->size(), to->data());
  }

  void Forward(std::vector<double>* x) const {
    double largest = (*x)[0];
    for (const double value : *x) largest = std::fmax(largest, value);
    double sum = 0;
    for (const double value : *x) sum += std::exp(value - largest);
    for (double& value : *x) {
      value =
          softmax_.logarithm ? value - largest - std::log(sum) : std::exp(value - largest) / sum;
    }
  }

  // The gradient in x, given the result y: x − exp(y) Σ x for the logarithm; without it PyTorch has
  // multiplied the gradient by y before, and x − y Σ x is left.
  void Backward(const std::vector<double>& y, std::vector<double>* x) const {
    double sum = 0;
    for (const double value : *x) sum += value;
    for (size_t i = 0; i < y.size(); ++i) {
      (*x)[i] -= sum * (softmax_.logarithm ? std::exp(y[i]) : y[i]);
    }
  }

  Softmax softmax_;
};

// (out, in, rows, stride, elements), (out, gradient, result, rows, stride, elements)
class ShortSoftmaxEmulation : public SoftmaxEmulation {
 public:
  explicit ShortSoftmaxEmulation(const Softmax& softmax)
      : SoftmaxEmulation(softmax, ShortArguments(softmax)), rows_(softmax.backward ? 3 : 2) {}

  Outcome Run(const KernelLaunch& launch, KernelMemory* memory) const override {
    const auto rows = launch.Get<int32_t>(rows_, 0);
    const auto stride = launch.Get<int32_t>(rows_ + 1, 0);
    const auto count = launch.Get<int32_t>(rows_ + 2, 0);
    if (stride != count) return Outcome::kNotUnderstood;
    return RunLines(launch, memory, {rows, 1, count});
  }

 private:
  static std::vector<Argument> ShortArguments(const Softmax& softmax) {
    if (softmax.backward) return {{8, 8}, {8, 8}, {8, 8}, {4, 4}, {4, 4}, {4, 4}};
    return {{8, 8}, {8, 8}, {4, 4}, {4, 4}, {4, 4}};
  }

  size_t rows_;  // the argument that counts them
};

// One row for each block, or rows with other elements between theirs.
class LongSoftmaxEmulation : public SoftmaxEmulation {
 public:
  // Both have sizes of `width` bytes: (elements) or, spatial, (outer, elements, inner).
  LongSoftmaxEmulation(const Softmax& softmax, size_t width, bool spatial)
      : SoftmaxEmulation(softmax, LongArguments(softmax, width, spatial)),
        first_(softmax.backward ? 3 : 2),
        width_(width),
        spatial_(spatial) {}

  Outcome Run(const KernelLaunch& launch, KernelMemory* memory) const override {
    if (!spatial_) {
      return RunLines(launch, memory, {launch.grid[0], 1, Size(launch, first_)});
    }
    return RunLines(launch, memory,
                    {Size(launch, first_), Size(launch, first_ + 2), Size(launch, first_ + 1)});
  }

 private:
  static std::vector<Argument> LongArguments(const Softmax& softmax, size_t width, bool spatial) {
    std::vector<Argument> arguments(softmax.backward ? 3 : 2, {8, 8});
    arguments.insert(arguments.end(), spatial ? 3 : 1, {width, width});
    return arguments;
  }
  int64_t Size(const KernelLaunch& launch, size_t argument) const {
    return width_ == 4 ? launch.Get<int32_t>(argument, 0) : launch.Get<int64_t>(argument, 0);
  }

  size_t first_;
  size_t width_;
  bool spatial_;
};

// cunn_SoftMaxForward<n, in, sum, out, Epilogue>, …Reg<in, sum, out, Epilogue, index, n>,
// …Smem<n, in, sum, out, Epilogue, index>; backwards <n, in, sum, out, Epilogue>; spatial ones
// <in, sum, out, index, Epilogue>.
EmulationPointer MakeLong(const TemplateName& kernel) {
  const bool spatial = kernel.head.starts_with("cunn_SpatialSoftMax");
  const bool registers = kernel.head == "cunn_SoftMaxForwardReg";
  const std::string_view form =
      kernel.head.substr(std::string_view(spatial ? "cunn_SpatialSoftMax" : "cunn_SoftMax").size());
  const bool forward = form == "Forward" || form == "ForwardReg" || form == "ForwardSmem";
  if (!forward && form != "Backward" && form != "BackwardSmem") return nullptr;
  const size_t first = spatial || registers ? 0 : 1;
  const size_t epilogue = first + (spatial ? 4 : 3);
  const auto& arguments = kernel.arguments;
  if (arguments.size() <= epilogue) return nullptr;
  Softmax softmax;
  softmax.in = ElementNamed(arguments[first]);
  softmax.out = ElementNamed(arguments[first + 2]);
  softmax.backward = !forward;
  // Backwards the gradient of the input is written, in the input's type.
  if (softmax.backward) std::swap(softmax.in, softmax.out);
  softmax.swapped = softmax.backward;
  softmax.logarithm = arguments[epilogue].starts_with("LogSoftMax");
  if (softmax.in == Element::kNone || softmax.out == Element::kNone ||
      !(softmax.logarithm || arguments[epilogue].starts_with("SoftMax"))) {
    return nullptr;
  }
  const bool narrow = spatial ? arguments[3] == "int" : form == "Forward";
  return std::make_unique<LongSoftmaxEmulation>(softmax, narrow ? 4 : 8, spatial);
}

}  // namespace

// softmax_warp_forward<in, out, number, size, logarithm, masked, …>, softmax_warp_backward alike.
EmulationPointer MakeSoftmax(const TemplateName& kernel) {
  if (kernel.head.starts_with("cunn_S")) return MakeLong(kernel);
  Softmax softmax;
  softmax.backward = kernel.head == "softmax_warp_backward";
  if ((!softmax.backward && kernel.head != "softmax_warp_forward") || kernel.arguments.size() < 6 ||
      kernel.arguments[5] != "false") {
    return nullptr;
  }
  softmax.in = ElementNamed(kernel.arguments[0]);
  softmax.out = ElementNamed(kernel.arguments[1]);
  softmax.logarithm = kernel.arguments[4] == "true";
  if (softmax.in == Element::kNone || softmax.out == Element::kNone) return nullptr;
  return std::make_unique<ShortSoftmaxEmulation>(softmax);
}

}  // namespace vramstow::simulator
