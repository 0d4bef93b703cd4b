// The negative log-likelihood, which cross-entropy ends in, forwards and backwards.
//
// Source: ATen/native/cuda/Loss.cu of PyTorch 2.15: the kernels for a matrix of rows and classes
// whose loss is reduced to a sum or a mean. A target that is to be ignored counts nothing.
#include <cmath>

#include "simulator/kernels/named/kernels.h"
#include "simulator/kernels/named/loop.h"

namespace vramstow::simulator {
namespace {

struct Loss {
  Element element = Element::kNone;
  Element target = Element::kNone;
};

// What the kernels get after their tensors.
struct Terms {
  bool mean = false;
  int64_t rows = 0;
  int64_t classes = 0;
  int64_t ignored = 0;

  bool Plausible() const {
    constexpr int64_t kMost = int64_t{1} << 31;
    return rows > 0 && rows < kMost && classes > 0 && classes < kMost;
  }
  uint64_t elements() const { return static_cast<uint64_t>(rows) * static_cast<uint64_t>(classes); }
};

class LossEmulation : public Emulation {
 protected:
  LossEmulation(std::vector<Argument> arguments, const Loss& of)
      : Emulation(std::move(arguments)), of_(of) {}

  size_t width() const { return BytesOf(of_.element); }
  char* Find(const KernelLaunch& launch, KernelMemory* memory, size_t argument, uint64_t elements,
             bool write = false) const {
    return memory->At(launch.Get<uint64_t>(argument, 0), elements * width(), write);
  }
  const char* FindTargets(const KernelLaunch& launch, KernelMemory* memory, size_t argument,
                          const Terms& terms) const {
    const auto rows = static_cast<uint64_t>(terms.rows);
    return memory->At(launch.Get<uint64_t>(argument, 0), rows * BytesOf(of_.target), false);
  }
  int64_t Target(const char* targets, int64_t row) const {
    int64_t target = 0;
    const auto stride = static_cast<int64_t>(BytesOf(of_.target));
    LoadElements(of_.target, targets + row * stride, 0, 1, &target);
    return target;
  }
  double Load(const char* from, int64_t index = 0) const {
    double value = 0;
    LoadElements(of_.element, from + index * static_cast<int64_t>(width()), 0, 1, &value);
    return value;
  }
  void Store(double value, char* to, int64_t index = 0) const {
    StoreElements(of_.element, &value, 1, to + index * static_cast<int64_t>(width()), 0);
  }
  // Every target is a class or ignored.
  bool InRange(const char* targets, const Terms& terms) const {
    for (int64_t row = 0; row < terms.rows; ++row) {
      const int64_t target = Target(targets, row);
      if (target != terms.ignored && (target < 0 || target >= terms.classes)) return false;
    }
    return true;
  }

 private:
  Loss of_;
};

// (loss, total weight, logarithms, targets, weights of classes or null, mean?, rows, how many
// dimensions or classes of another kind, classes, which target to ignore)
class LossForward : public LossEmulation {
 public:
  explicit LossForward(const Loss& of)
      : LossEmulation(
            {{8, 8}, {8, 8}, {8, 8}, {8, 8}, {8, 8}, {1, 1}, {8, 8}, {8, 8}, {8, 8}, {8, 8}}, of) {}

  Outcome Run(const KernelLaunch& launch, KernelMemory* memory) const override {
    const Terms terms = {launch.Get<uint8_t>(5, 0) != 0, launch.Get<int64_t>(6, 0),
                         launch.Get<int64_t>(8, 0), launch.Get<int64_t>(9, 0)};
    if (!terms.Plausible()) return Outcome::kNotUnderstood;
    if (terms.elements() > launch.limits.bytes / width()) return Outcome::kTooLarge;
    const bool weighted = launch.Get<uint64_t>(4, 0) != 0;
    const char* in = Find(launch, memory, 2, terms.elements());
    const char* targets = FindTargets(launch, memory, 3, terms);
    const char* weights = weighted ? Find(launch, memory, 4, terms.classes) : nullptr;
    char* loss = Find(launch, memory, 0, 1, true);
    char* total = Find(launch, memory, 1, 1, true);
    if (in == nullptr || targets == nullptr || loss == nullptr || total == nullptr ||
        (weighted && weights == nullptr)) {
      return Outcome::kIllegalAddress;
    }
    if (!memory->Begin()) return Outcome::kUncomputed;
    if (!InRange(targets, terms)) return Outcome::kAssertion;
    double sum = 0;
    double weight_sum = 0;
    for (int64_t row = 0; row < terms.rows; ++row) {
      const int64_t target = Target(targets, row);
      if (target == terms.ignored) continue;
      const double weight = weighted ? Load(weights, target) : 1;
      sum -= weight * Load(in, row * terms.classes + target);
      weight_sum += weight;
    }
    Store(weight_sum, total);
    // All ignored: nothing divided by nothing is not a number, as on a card.
    Store(terms.mean ? sum / weight_sum : sum, loss);
    return Outcome::kDone;
  }
};

// (gradient of the logarithms, gradient of the loss, targets, weights or null, total weight, mean?,
// rows, how many dimensions, classes, which target to ignore). Only the targets' elements are
// written: the caller has cleared the others.
class LossBackward : public LossEmulation {
 public:
  explicit LossBackward(const Loss& of)
      : LossEmulation(
            {{8, 8}, {8, 8}, {8, 8}, {8, 8}, {8, 8}, {1, 1}, {4, 4}, {4, 4}, {8, 8}, {8, 8}}, of) {}

  Outcome Run(const KernelLaunch& launch, KernelMemory* memory) const override {
    const Terms terms = {launch.Get<uint8_t>(5, 0) != 0, launch.Get<int32_t>(6, 0),
                         launch.Get<int64_t>(8, 0), launch.Get<int64_t>(9, 0)};
    if (!terms.Plausible()) return Outcome::kNotUnderstood;
    if (terms.elements() > launch.limits.bytes / width()) return Outcome::kTooLarge;
    const bool weighted = launch.Get<uint64_t>(3, 0) != 0;
    char* out = Find(launch, memory, 0, terms.elements(), true);
    const char* gradient = Find(launch, memory, 1, 1);
    const char* targets = FindTargets(launch, memory, 2, terms);
    const char* weights = weighted ? Find(launch, memory, 3, terms.classes) : nullptr;
    const char* total = Find(launch, memory, 4, 1);
    if (out == nullptr || gradient == nullptr || targets == nullptr || total == nullptr ||
        (weighted && weights == nullptr)) {
      return Outcome::kIllegalAddress;
    }
    if (!memory->Begin()) return Outcome::kUncomputed;
    if (!InRange(targets, terms)) return Outcome::kAssertion;
    const double scale = terms.mean ? Load(gradient) / Load(total) : Load(gradient);
    for (int64_t row = 0; row < terms.rows; ++row) {
      const int64_t target = Target(targets, row);
      if (target == terms.ignored) continue;
      const double weight = weighted ? Load(weights, target) : 1;
      Store(-weight * scale, out, row * terms.classes + target);
    }
    return Outcome::kDone;
  }
};

}  // namespace

// nll_loss_forward_reduce_cuda_kernel_2d<element, kept, target>, …_backward_…_2d<element, target>
EmulationPointer MakeLoss(const TemplateName& kernel) {
  const bool forward = kernel.head == "nll_loss_forward_reduce_cuda_kernel_2d";
  if ((!forward && kernel.head != "nll_loss_backward_reduce_cuda_kernel_2d") ||
      kernel.arguments.size() != (forward ? 3 : 2)) {
    return nullptr;
  }
  const Loss of = {ElementNamed(kernel.arguments[0]), ElementNamed(kernel.arguments.back())};
  if (of.element == Element::kNone || ComputeType(of.element) == Element::kInt64 ||
      (of.target != Element::kInt64 && of.target != Element::kUint8)) {
    return nullptr;
  }
  if (forward) return std::make_unique<LossForward>(of);
  return std::make_unique<LossBackward>(of);
}

}  // namespace vramstow::simulator
