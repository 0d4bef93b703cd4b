// Emulates the radix sort of CUB (CUDA 13), by which PyTorch puts numbers in a random order
// (randperm).
//
// Source: CUB's kernels as PyTorch 2.15 launches them. CUB sorts by one digit after the other; each
// kernel for a digit is emulated as a stable sort by that digit. Kernels that only prepare counts
// for others do nothing.
#include <algorithm>
#include <cstdlib>
#include <numeric>

#include "simulator/kernels/named/element.h"
#include "simulator/kernels/named/kernels.h"

namespace vramstow::simulator {
namespace {

// Emulates the kernel that sorts by one digit, or the kernel that sorts by all digits at once. Its
// last arguments are the output and input of the keys, the output and input of the values, the
// number of elements, the first bit of the digit, and its number of bits.
class RadixEmulation : public Emulation {
 public:
  struct Form {
    Element key = Element::kNone;
    size_t value = 0;    // bytes; 0: there are only keys
    bool whole = false;  // DeviceRadixSortSingleTileKernel
  };
  explicit RadixEmulation(const Form& form) : Emulation(Arguments(form.whole)), form_(form) {}

  Outcome Run(const KernelLaunch& launch, KernelMemory* memory) const override {
    const size_t first = form_.whole ? 0 : 4;  // argument
    const size_t keys_in = form_.whole ? 0 : 5;
    const size_t keys_out = form_.whole ? 1 : 4;
    const size_t values_in = form_.whole ? 2 : 7;
    const size_t values_out = form_.whole ? 3 : 6;
    const auto count = launch.Get<int32_t>(first + 4, 0);
    const int64_t bit = launch.Get<int32_t>(first + 5, 0);
    const int64_t last = launch.Get<int32_t>(first + 6, 0);
    const int64_t end = form_.whole ? last : bit + last;
    const size_t width = BytesOf(form_.key);
    if (count <= 0 || bit < 0 || end <= bit || end > static_cast<int64_t>(8 * width)) {
      return Outcome::kNotUnderstood;
    }
    const auto total = static_cast<uint64_t>(count);
    if (total > launch.limits.bytes / (2 * (width + form_.value))) return Outcome::kTooLarge;
    char* to = memory->At(launch.Get<uint64_t>(keys_out, 0), total * width, true);
    char* values_to = nullptr;
    const char* values_from = nullptr;
    if (form_.value > 0) {
      values_to = memory->At(launch.Get<uint64_t>(values_out, 0), total * form_.value, true);
      values_from = memory->At(launch.Get<uint64_t>(values_in, 0), total * form_.value, false);
      if (values_to == nullptr || values_from == nullptr) return Outcome::kIllegalAddress;
    }
    const char* from = memory->At(launch.Get<uint64_t>(keys_in, 0), total * width, false);
    if (to == nullptr || from == nullptr) return Outcome::kIllegalAddress;
    if (!memory->Begin()) return Outcome::kUncomputed;
    std::vector<uint64_t> digits(total);
    const uint64_t mask = end - bit >= 64 ? UINT64_MAX : (uint64_t{1} << (end - bit)) - 1;
    for (uint64_t i = 0; i < total; ++i) {
      digits[i] = Twiddled(from + i * width, width) >> bit & mask;
    }
    std::vector<size_t> order(total);
    std::iota(order.begin(), order.end(), size_t{0});
    std::stable_sort(order.begin(), order.end(),
                     [&](size_t a, size_t b) { return digits[a] < digits[b]; });
    // The input and the output may be the same memory.
    std::vector<char> sorted(total * (width + form_.value));
    for (uint64_t i = 0; i < total; ++i) {
      memcpy(&sorted[i * width], from + order[i] * width, width);
      if (form_.value == 0) continue;
      memcpy(&sorted[total * width + i * form_.value], values_from + order[i] * form_.value,
             form_.value);
    }
    memcpy(to, sorted.data(), total * width);
    if (form_.value > 0) memcpy(values_to, &sorted[total * width], total * form_.value);
    return Outcome::kDone;
  }

 private:
  static std::vector<Argument> Arguments(bool whole) {
    std::vector<Argument> arguments(whole ? 4 : 8, {8, 8});
    arguments.insert(arguments.end(), 3, {4, 4});
    return arguments;
  }

  // Converts a key to an unsigned integer, so that integers have the same order as the keys.
  uint64_t Twiddled(const char* at, size_t width) const {
    uint64_t bits = 0;
    memcpy(&bits, at, width);
    const bool is_signed = form_.key == Element::kInt32 || form_.key == Element::kInt64;
    return is_signed ? bits ^ uint64_t { 1 } << (8 * width - 1) : bits;
  }

  Form form_;
};

// Stands for the kernels that compute counts, which this emulation does not need.
class CountEmulation : public Emulation {
 public:
  CountEmulation() : Emulation({}) {}
  Outcome Run(const KernelLaunch& /*launch*/, KernelMemory* /*memory*/) const override {
    return Outcome::kDone;
  }
};

}  // namespace

// The first template arguments of DeviceRadixSortOnesweepKernel and DeviceRadixSortSingleTileKernel
// are the policy, the order, the key type and the value type.
EmulationPointer MakeRadixSort(const TemplateName& kernel) {
  if (kernel.head.ends_with("::DeviceRadixSortHistogramKernel") ||
      kernel.head.ends_with("::DeviceRadixSortExclusiveSumKernel")) {
    return std::make_unique<CountEmulation>();
  }
  RadixEmulation::Form form;
  form.whole = kernel.head.ends_with("::DeviceRadixSortSingleTileKernel");
  if ((!form.whole && !kernel.head.ends_with("::DeviceRadixSortOnesweepKernel")) ||
      kernel.arguments.size() < 5) {
    return nullptr;
  }
  form.key = ElementNamed(kernel.arguments[2]);
  const TemplateName value = ParseTemplate(kernel.arguments[3]);
  if (value.head.ends_with("OpaqueType") && value.arguments.size() == 1) {
    const std::string bytes(value.arguments[0]);
    form.value = strtoul(bytes.c_str(), nullptr, 10);
  } else if (!value.head.ends_with("NullType")) {
    form.value = BytesOf(ElementNamed(kernel.arguments[3]));
    if (form.value == 0) return nullptr;
  }
  const bool is_known =
      form.key == Element::kInt32 || form.key == Element::kInt64 || form.key == Element::kUint32;
  // Only ascending sorts are emulated, because PyTorch uses them to put numbers in a random order.
  if (!is_known || kernel.arguments[1].ends_with(")1")) return nullptr;
  return std::make_unique<RadixEmulation>(form);
}

}  // namespace vramstow::simulator
