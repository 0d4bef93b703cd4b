// Layer normalization and RMS normalization along the last dimension, forwards and backwards.
//
// Source: ATen/native/cuda/layer_norm_kernel.cu of PyTorch 2.15. Forwards a block takes a row, in
// one kernel or in two (moments, then values); backwards a block takes a row of the input's
// gradient, and the gradients of weight and bias are sums over rows, whole or in parts. Means and
// reciprocal deviations are kept in float for 16-bit types.
#include <algorithm>
#include <charconv>
#include <cmath>

#include "simulator/kernels/named/kernels.h"
#include "simulator/kernels/named/loop.h"

namespace vramstow::simulator {
namespace {

using Numbers = std::vector<double>;

// "32u", "8"; 0: no number.
int NumberIn(std::string_view text) {
  int number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

struct Normalization {
  Element element = Element::kNone;
  Element kept = Element::kNone;  // of means and deviations
  bool rms = false;
};

// Rows of tensors that lie without gaps, read as numbers. A null address reads as `otherwise`.
class Rows {
 public:
  // False: it must not be touched.
  bool Open(KernelMemory* memory, uint64_t address, Element element, uint64_t elements,
            bool write) {
    width_ = static_cast<int64_t>(BytesOf(element));
    element_ = element;
    if (address == 0) return true;
    bytes_ = memory->At(address, elements * BytesOf(element), write);
    return bytes_ != nullptr;
  }
  bool is_null() const { return bytes_ == nullptr; }

  void Load(int64_t first, Numbers* to, double otherwise = 0) const {
    if (bytes_ == nullptr) {
      std::fill(to->begin(), to->end(), otherwise);
      return;
    }
    LoadElements(element_, bytes_ + first * width_, width_, to->size(), to->data());
  }
  double At(int64_t index) const {
    double value = 0;
    if (bytes_ != nullptr) LoadElements(element_, bytes_ + index * width_, 0, 1, &value);
    return value;
  }
  void Store(int64_t first, const Numbers& from) const {
    if (bytes_ == nullptr) return;
    StoreElements(element_, from.data(), from.size(), bytes_ + first * width_, width_);
  }
  void Set(int64_t index, double value) const {
    if (bytes_ != nullptr) StoreElements(element_, &value, 1, bytes_ + index * width_, width_);
  }

 private:
  Element element_ = Element::kNone;
  int64_t width_ = 0;
  char* bytes_ = nullptr;
};

struct Moments {
  double mean = 0;
  double reciprocal = 0;  // of the deviation
};

Moments MomentsOf(const Numbers& row, double epsilon, bool rms) {
  const auto count = static_cast<double>(row.size());
  Moments moments;
  if (!rms) {
    for (const double x : row) moments.mean += x;
    moments.mean /= count;
  }
  double squares = 0;
  for (const double x : row) squares += (x - moments.mean) * (x - moments.mean);
  moments.reciprocal = 1 / std::sqrt(squares / count + epsilon);
  return moments;
}

// What the kernels of this file have in common: types, and how many rows and columns there are.
class NormalizationEmulation : public Emulation {
 protected:
  NormalizationEmulation(std::vector<Argument> arguments, const Normalization& of)
      : Emulation(std::move(arguments)), of_(of) {}

  // A plausible shape of which `tensors` are touched?
  Outcome Check(const KernelLaunch& launch, int64_t rows, int64_t columns, uint64_t tensors) const {
    constexpr int64_t kMost = int64_t{1} << 31;
    if (rows <= 0 || columns <= 0 || rows >= kMost || columns >= kMost) {
      return Outcome::kNotUnderstood;
    }
    const auto elements = static_cast<uint64_t>(rows) * static_cast<uint64_t>(columns);
    return elements > launch.limits.bytes / (tensors * BytesOf(of_.element)) ? Outcome::kTooLarge
                                                                             : Outcome::kDone;
  }
  bool Open(const KernelLaunch& launch, KernelMemory* memory, size_t argument, uint64_t elements,
            Rows* rows, bool write = false) const {
    return rows->Open(memory, launch.Get<uint64_t>(argument, 0), of_.element, elements, write);
  }
  bool OpenKept(const KernelLaunch& launch, KernelMemory* memory, size_t argument,
                uint64_t elements, Rows* rows, bool write = false) const {
    return rows->Open(memory, launch.Get<uint64_t>(argument, 0), of_.kept, elements, write);
  }
  double ReadEpsilon(const KernelLaunch& launch, size_t argument) const {
    return of_.kept == Element::kDouble ? launch.Get<double>(argument, 0)
                                        : launch.Get<float>(argument, 0);
  }
  const Normalization& of() const { return of_; }

 private:
  Normalization of_;
};

// (columns, epsilon, in, weight, bias, mean, reciprocal deviation, out), a block for each row.
class ForwardEmulation : public NormalizationEmulation {
 public:
  explicit ForwardEmulation(const Normalization& of)
      : NormalizationEmulation({{4, 4},
                                {BytesOf(of.kept), BytesOf(of.kept)},
                                {8, 8},
                                {8, 8},
                                {8, 8},
                                {8, 8},
                                {8, 8},
                                {8, 8}},
                               of) {}

  Outcome Run(const KernelLaunch& launch, KernelMemory* memory) const override {
    const auto columns = launch.Get<int32_t>(0, 0);
    const int64_t rows = launch.grid[0];
    if (const Outcome outcome = Check(launch, rows, columns, 2); outcome != Outcome::kDone) {
      return outcome;
    }
    const auto elements = static_cast<uint64_t>(rows) * static_cast<uint64_t>(columns);
    Rows in, weight, bias, mean, reciprocal, out;
    if (!Open(launch, memory, 2, elements, &in) || !Open(launch, memory, 3, columns, &weight) ||
        !Open(launch, memory, 4, columns, &bias) ||
        !OpenKept(launch, memory, 5, rows, &mean, true) ||
        !OpenKept(launch, memory, 6, rows, &reciprocal, true) ||
        !Open(launch, memory, 7, elements, &out, true) || in.is_null() || out.is_null()) {
      return Outcome::kIllegalAddress;
    }
    if (!memory->Begin()) return Outcome::kUncomputed;
    Numbers x(columns), w(columns), b(columns);
    weight.Load(0, &w, 1);
    bias.Load(0, &b);
    for (int64_t row = 0; row < rows; ++row) {
      in.Load(row * columns, &x);
      const Moments moments = MomentsOf(x, ReadEpsilon(launch, 1), of().rms);
      for (size_t i = 0; i < x.size(); ++i) {
        x[i] = (x[i] - moments.mean) * moments.reciprocal * w[i] + b[i];
      }
      out.Store(row * columns, x);
      if (!of().rms) mean.Set(row, moments.mean);
      reciprocal.Set(row, moments.reciprocal);
    }
    return Outcome::kDone;
  }
};

// (rows, columns, epsilon, in, mean, reciprocal deviation)
class MomentsEmulation : public NormalizationEmulation {
 public:
  explicit MomentsEmulation(const Normalization& of)
      : NormalizationEmulation(
            {{8, 8}, {8, 8}, {BytesOf(of.kept), BytesOf(of.kept)}, {8, 8}, {8, 8}, {8, 8}}, of) {}

  Outcome Run(const KernelLaunch& launch, KernelMemory* memory) const override {
    const auto rows = launch.Get<int64_t>(0, 0);
    const auto columns = launch.Get<int64_t>(1, 0);
    if (const Outcome outcome = Check(launch, rows, columns, 1); outcome != Outcome::kDone) {
      return outcome;
    }
    Rows in, mean, reciprocal;
    if (!Open(launch, memory, 3, static_cast<uint64_t>(rows * columns), &in) ||
        !OpenKept(launch, memory, 4, rows, &mean, true) ||
        !OpenKept(launch, memory, 5, rows, &reciprocal, true) || in.is_null()) {
      return Outcome::kIllegalAddress;
    }
    if (!memory->Begin()) return Outcome::kUncomputed;
    Numbers x(static_cast<size_t>(columns));
    for (int64_t row = 0; row < rows; ++row) {
      in.Load(row * columns, &x);
      const Moments moments = MomentsOf(x, ReadEpsilon(launch, 2), of().rms);
      if (!of().rms) mean.Set(row, moments.mean);
      reciprocal.Set(row, moments.reciprocal);
    }
    return Outcome::kDone;
  }
};

// (rows, columns, in, mean, reciprocal deviation, weight, bias, out)
class ValuesEmulation : public NormalizationEmulation {
 public:
  explicit ValuesEmulation(const Normalization& of)
      : NormalizationEmulation(std::vector<Argument>(8, {8, 8}), of) {}

  Outcome Run(const KernelLaunch& launch, KernelMemory* memory) const override {
    const auto rows = launch.Get<int64_t>(0, 0);
    const auto columns = launch.Get<int64_t>(1, 0);
    if (const Outcome outcome = Check(launch, rows, columns, 2); outcome != Outcome::kDone) {
      return outcome;
    }
    const auto elements = static_cast<uint64_t>(rows * columns);
    Rows in, mean, reciprocal, weight, bias, out;
    if (!Open(launch, memory, 2, elements, &in) || !OpenKept(launch, memory, 3, rows, &mean) ||
        !OpenKept(launch, memory, 4, rows, &reciprocal) ||
        !Open(launch, memory, 5, columns, &weight) || !Open(launch, memory, 6, columns, &bias) ||
        !Open(launch, memory, 7, elements, &out, true) || in.is_null() || out.is_null()) {
      return Outcome::kIllegalAddress;
    }
    if (!memory->Begin()) return Outcome::kUncomputed;
    const auto count = static_cast<size_t>(columns);
    Numbers x(count), w(count), b(count);
    weight.Load(0, &w, 1);
    bias.Load(0, &b);
    for (int64_t row = 0; row < rows; ++row) {
      in.Load(row * columns, &x);
      const double middle = of().rms ? 0 : mean.At(row);
      const double scale = reciprocal.At(row);
      for (size_t i = 0; i < count; ++i) x[i] = (x[i] - middle) * scale * w[i] + b[i];
      out.Store(row * columns, x);
    }
    return Outcome::kDone;
  }
};

// (gradient, in, mean, reciprocal deviation, weight, gradient of in, columns), a block for a row.
// With y the normalized row and g the gradient times the weight: (g − mean(g) − y mean(g y)) ÷ σ.
class InputGradientEmulation : public NormalizationEmulation {
 public:
  explicit InputGradientEmulation(const Normalization& of)
      : NormalizationEmulation({{8, 8}, {8, 8}, {8, 8}, {8, 8}, {8, 8}, {8, 8}, {4, 4}}, of) {}

  Outcome Run(const KernelLaunch& launch, KernelMemory* memory) const override {
    const auto columns = launch.Get<int32_t>(6, 0);
    const int64_t rows = launch.grid[0];
    if (const Outcome outcome = Check(launch, rows, columns, 3); outcome != Outcome::kDone) {
      return outcome;
    }
    const auto elements = static_cast<uint64_t>(rows) * static_cast<uint64_t>(columns);
    Rows gradient, in, mean, reciprocal, weight, out;
    if (!Open(launch, memory, 0, elements, &gradient) || !Open(launch, memory, 1, elements, &in) ||
        !OpenKept(launch, memory, 2, rows, &mean) ||
        !OpenKept(launch, memory, 3, rows, &reciprocal) ||
        !Open(launch, memory, 4, columns, &weight) ||
        !Open(launch, memory, 5, elements, &out, true) || in.is_null() || out.is_null()) {
      return Outcome::kIllegalAddress;
    }
    if (!memory->Begin()) return Outcome::kUncomputed;
    Numbers g(columns), x(columns), w(columns);
    weight.Load(0, &w, 1);
    for (int64_t row = 0; row < rows; ++row) {
      gradient.Load(row * columns, &g);
      in.Load(row * columns, &x);
      RunRow({of().rms ? 0 : mean.At(row), reciprocal.At(row)}, w, &g, &x);
      out.Store(row * columns, g);
    }
    return Outcome::kDone;
  }

 private:
  void RunRow(const Moments& moments, const Numbers& w, Numbers* g, Numbers* x) const {
    double sum = 0;
    double product = 0;
    for (size_t i = 0; i < g->size(); ++i) {
      (*g)[i] *= w[i];
      (*x)[i] = ((*x)[i] - moments.mean) * moments.reciprocal;
      sum += (*g)[i];
      product += (*g)[i] * (*x)[i];
    }
    const auto count = static_cast<double>(g->size());
    if (of().rms) sum = 0;
    for (size_t i = 0; i < g->size(); ++i) {
      (*g)[i] = ((*g)[i] - sum / count - (*x)[i] * product / count) * moments.reciprocal;
    }
  }
};

// (rows, columns, gradient, in, mean, reciprocal deviation, gradient of weight, of bias). In parts:
// block y takes every so many bunches of rows, and each of its threads y leaves a sum.
class WeightGradientEmulation : public NormalizationEmulation {
 public:
  WeightGradientEmulation(const Normalization& of, int64_t threads, int64_t bunch, bool parts)
      : NormalizationEmulation(std::vector<Argument>(8, {8, 8}), of),
        threads_(threads),
        bunch_(bunch),
        parts_(parts) {}

  Outcome Run(const KernelLaunch& launch, KernelMemory* memory) const override {
    const auto rows = launch.Get<int64_t>(0, 0);
    const auto columns = launch.Get<int64_t>(1, 0);
    if (const Outcome outcome = Check(launch, rows, columns, 2); outcome != Outcome::kDone) {
      return outcome;
    }
    const auto elements = static_cast<uint64_t>(rows * columns);
    const int64_t sums = parts_ ? launch.grid[1] * threads_ : 1;
    if (Check(launch, sums, columns, 2) != Outcome::kDone) return Outcome::kNotUnderstood;
    Rows gradient, in, mean, reciprocal, weight, bias;
    if (!Open(launch, memory, 2, elements, &gradient) || !Open(launch, memory, 3, elements, &in) ||
        !OpenKept(launch, memory, 4, rows, &mean) ||
        !OpenKept(launch, memory, 5, rows, &reciprocal) ||
        !Open(launch, memory, 6, static_cast<uint64_t>(sums * columns), &weight, true) ||
        !Open(launch, memory, 7, static_cast<uint64_t>(sums * columns), &bias, true)) {
      return Outcome::kIllegalAddress;
    }
    if (!memory->Begin()) return Outcome::kUncomputed;
    const auto count = static_cast<size_t>(columns);
    Numbers g(count), x(count);
    Numbers of_weight(static_cast<size_t>(sums * columns));
    Numbers of_bias(of_weight.size());
    for (int64_t row = 0; row < rows; ++row) {
      gradient.Load(row * columns, &g);
      in.Load(row * columns, &x);
      const double middle = of().rms ? 0 : mean.At(row);
      const double scale = reciprocal.At(row);
      const auto to = static_cast<size_t>(Part(row, launch.grid[1]) * columns);
      for (size_t i = 0; i < count; ++i) {
        of_weight[to + i] += g[i] * (x[i] - middle) * scale;
        of_bias[to + i] += g[i];
      }
    }
    weight.Store(0, of_weight);
    bias.Store(0, of_bias);
    return Outcome::kDone;
  }

 private:
  int64_t Part(int64_t row, int64_t blocks) const {
    if (!parts_) return 0;
    return row / bunch_ % blocks * threads_ + row % bunch_ / (bunch_ / threads_);
  }

  int64_t threads_;
  int64_t bunch_;
  bool parts_;
};

// GammaBetaBackwardCUDAKernelTemplate<element, kept, threads x, threads y, rows of a bunch, in
// parts?, whole blocks?, rms?>
EmulationPointer MakeWeightGradient(const Normalization& of, const TemplateName& kernel) {
  if (kernel.arguments.size() != 8) return nullptr;
  const int threads = NumberIn(kernel.arguments[3]);
  const int bunch = NumberIn(kernel.arguments[4]);
  if (threads <= 0 || bunch < threads || bunch % threads != 0) return nullptr;
  return std::make_unique<WeightGradientEmulation>(of, threads, bunch,
                                                   kernel.arguments[5] == "true");
}

}  // namespace

// NAME<element, kept, …, rms?>
EmulationPointer MakeNormalization(const TemplateName& kernel) {
  if (kernel.arguments.size() < 3) return nullptr;
  Normalization of;
  of.element = ElementNamed(kernel.arguments[0]);
  of.kept = ElementNamed(kernel.arguments[1]);
  of.rms = kernel.arguments.back() == "true";
  const bool computed = of.kept == Element::kFloat || of.kept == Element::kDouble;
  if (!computed || ComputeType(of.element) != of.kept) return nullptr;
  if (kernel.head == "GammaBetaBackwardCUDAKernelTemplate") return MakeWeightGradient(of, kernel);
  if (kernel.arguments.size() != 3) return nullptr;
  if (kernel.head == "vectorized_layer_norm_kernel") return std::make_unique<ForwardEmulation>(of);
  if (kernel.head == "RowwiseMomentsCUDAKernel") return std::make_unique<MomentsEmulation>(of);
  if (kernel.head == "LayerNormForwardCUDAKernel") return std::make_unique<ValuesEmulation>(of);
  if (kernel.head == "layer_norm_grad_input_kernel" ||
      kernel.head == "layer_norm_grad_input_kernel_vectorized") {
    return std::make_unique<InputGradientEmulation>(of);
  }
  return nullptr;
}

}  // namespace vramstow::simulator
