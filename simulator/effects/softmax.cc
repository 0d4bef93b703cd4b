// Softmax and its logarithm along the last dimension, forwards and backwards.
//
// Source: ATen/native/cuda/PersistentSoftmax.cuh of PyTorch 2.15: the kernels for rows of up to
// 2,048 elements, (out, in, rows, stride, elements, mask, …) and (out, gradient, result of the
// forward pass, rows, stride, elements, mask). Rows with a mask have no effect here.
#include <cmath>

#include "simulator/effects/kernels.h"
#include "simulator/effects/loop.h"

namespace vramstow::simulator {
namespace {

struct Softmax {
  Element in = Element::kNone;
  Element out = Element::kNone;
  bool logarithm = false;
  bool backward = false;
};

class SoftmaxEffect : public Effect {
 public:
  explicit SoftmaxEffect(const Softmax& softmax)
      : Effect(Arguments(softmax)), softmax_(softmax), rows_(softmax.backward ? 3 : 2) {}

  Outcome Run(const KernelLaunch& launch, KernelMemory* memory) const override {
    const auto rows = launch.Get<int32_t>(rows_, 0);
    const auto stride = launch.Get<int32_t>(rows_ + 1, 0);
    const auto count = launch.Get<int32_t>(rows_ + 2, 0);
    if (rows <= 0 || stride < count || count <= 0) return Outcome::kNotUnderstood;
    const uint64_t elements = static_cast<uint64_t>(rows - 1) * stride + count;
    if (elements > launch.limits.bytes / 8) return Outcome::kTooLarge;
    char* out = memory->At(launch.Get<uint64_t>(0, 0), elements * BytesOf(softmax_.out), true);
    const char* in = memory->At(launch.Get<uint64_t>(1, 0), elements * BytesOf(softmax_.in), false);
    const char* result = in;
    if (softmax_.backward) {
      result = memory->At(launch.Get<uint64_t>(2, 0), elements * BytesOf(softmax_.in), false);
    }
    if (out == nullptr || in == nullptr || result == nullptr) return Outcome::kIllegalAddress;
    std::vector<double> x(static_cast<size_t>(count));
    std::vector<double> y(static_cast<size_t>(count));
    for (int64_t row = 0; row < rows; ++row) {
      const int64_t at = row * stride;
      Load(in, at, &x);
      if (softmax_.backward) {
        Load(result, at, &y);
        Backward(y, &x);
      } else {
        Forward(&x);
      }
      const auto bytes = static_cast<int64_t>(BytesOf(softmax_.out));
      StoreElements(softmax_.out, x.data(), x.size(), out + at * bytes, bytes);
    }
    return Outcome::kDone;
  }

 private:
  static std::vector<Argument> Arguments(const Softmax& softmax) {
    if (softmax.backward) return {{8, 8}, {8, 8}, {8, 8}, {4, 4}, {4, 4}, {4, 4}};
    return {{8, 8}, {8, 8}, {4, 4}, {4, 4}, {4, 4}};
  }

  void Load(const char* from, int64_t at, std::vector<double>* to) const {
    const auto bytes = static_cast<int64_t>(BytesOf(softmax_.in));
    LoadElements(softmax_.in, from + at * bytes, bytes, to->size(), to->data());
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

  // The gradient in x, given the result y: y (g − Σ g y), and g − exp(y) Σ g for the logarithm.
  void Backward(const std::vector<double>& y, std::vector<double>* x) const {
    double sum = 0;
    for (size_t i = 0; i < y.size(); ++i) sum += softmax_.logarithm ? (*x)[i] : (*x)[i] * y[i];
    for (size_t i = 0; i < y.size(); ++i) {
      (*x)[i] = softmax_.logarithm ? (*x)[i] - std::exp(y[i]) * sum : y[i] * ((*x)[i] - sum);
    }
  }

  Softmax softmax_;
  size_t rows_;  // the argument that counts them
};

}  // namespace

// softmax_warp_forward<in, out, number, size, logarithm, masked, …>, softmax_warp_backward alike.
EffectPointer MakeSoftmax(const TemplateName& kernel) {
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
  return std::make_unique<SoftmaxEffect>(softmax);
}

}  // namespace vramstow::simulator
