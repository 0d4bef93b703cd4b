// Sorting, and the k largest or smallest.
//
// Source: Sort.cu, SortingCommon.cuh and TensorTopK.cu in ATen/native/cuda of PyTorch 2.15, and the
// radix sort of CUB (CUDA 13), whose passes over single digits are done one by one: each is a
// stable sort by its digit. Kernels that only prepare counts for others do nothing here.
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <numeric>

#include "simulator/kernels/named/kernels.h"
#include "simulator/kernels/named/tensor_info.h"

namespace vramstow::simulator {
namespace {

// Not-a-number is larger than all numbers, as PyTorch has it.
bool Less(double a, double b) {
  if (std::isnan(b)) return !std::isnan(a);
  return a < b;
}
bool Less(int64_t a, int64_t b) { return a < b; }

// One line of a tensor, read as numbers.
template <typename T>
std::vector<T> ReadLine(Element element, const char* from, int64_t stride, size_t count) {
  std::vector<T> line(count);
  LoadElements(element, from, stride, count, line.data());
  return line;
}

template <typename T>
std::vector<size_t> OrderOf(const std::vector<T>& line, bool descending) {
  std::vector<size_t> order(line.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return descending ? Less(line[b], line[a]) : Less(line[a], line[b]);
  });
  return order;
}

// (keys, lines, elements of a line, their distance, values, their distance, …): sorts keys in
// place, and values with them.
class LineSortEmulation : public Emulation {
 public:
  // `flag`: a last argument says whether to sort downwards; otherwise `descending` does.
  LineSortEmulation(Element key, size_t value, bool flag, bool descending, bool padded)
      : Emulation(Arguments(key, flag, padded)),
        key_(key),
        value_(value),
        flag_(flag),
        descending_(descending) {}

  Outcome Run(const KernelLaunch& launch, KernelMemory* memory) const override {
    Strided keys;
    Strided values;
    const uint64_t lines = launch.Get<uint32_t>(1, 0);
    const uint64_t count = launch.Get<uint32_t>(2, 0);
    const uint64_t key_step = launch.Get<uint32_t>(3, 0);
    const uint64_t value_step = launch.Get<uint32_t>(5, 0);
    if (!ReadTensorInfo(launch, 0, &keys) || !ReadTensorInfo(launch, 4, &values) || lines == 0 ||
        count == 0) {
      return Outcome::kNotUnderstood;
    }
    const size_t width = BytesOf(key_);
    if (lines * count > launch.limits.bytes / (width + value_)) return Outcome::kTooLarge;
    const uint64_t key_reach = (keys.Reach() + (count - 1) * key_step) * width;
    const uint64_t value_reach = (values.Reach() + (count - 1) * value_step) * value_;
    memory->At(keys.address, key_reach, false);
    memory->At(values.address, value_reach, false);
    char* key_bytes = memory->At(keys.address, key_reach, true);
    char* value_bytes = memory->At(values.address, value_reach, true);
    if (key_bytes == nullptr || value_bytes == nullptr) return Outcome::kIllegalAddress;
    if (!memory->Begin()) return Outcome::kUncomputed;
    const bool descending = flag_ ? launch.Get<uint8_t>(6, 0) != 0 : descending_;
    for (uint64_t line = 0; line < lines; ++line) {
      const Line at = {key_bytes + keys.Offset(line) * width, key_step * width,
                       value_bytes + values.Offset(line) * value_, value_step * value_};
      if (ComputeType(key_) == Element::kInt64) {
        Sort<int64_t>(at, count, descending);
      } else {
        Sort<double>(at, count, descending);
      }
    }
    return Outcome::kDone;
  }

 private:
  struct Line {
    char* keys;
    uint64_t key_step;
    char* values;
    uint64_t value_step;
  };

  static std::vector<Argument> Arguments(Element key, bool flag, bool padded) {
    std::vector<Argument> arguments = {{kTensorInfoBytes, 8}, {4, 4}, {4, 4}, {4, 4},
                                       {kTensorInfoBytes, 8}, {4, 4}, {1, 1}};
    if (padded && !flag) arguments.push_back({BytesOf(key), BytesOf(key)});
    return arguments;
  }

  template <typename T>
  void Sort(const Line& at, uint64_t count, bool descending) const {
    const size_t width = BytesOf(key_);
    const std::vector<T> keys =
        ReadLine<T>(key_, at.keys, static_cast<int64_t>(at.key_step), count);
    const std::vector<size_t> order = OrderOf(keys, descending);
    std::vector<char> old(count * (width + value_));
    for (uint64_t i = 0; i < count; ++i) {
      memcpy(&old[i * (width + value_)], at.keys + i * at.key_step, width);
      memcpy(&old[i * (width + value_) + width], at.values + i * at.value_step, value_);
    }
    for (uint64_t i = 0; i < count; ++i) {
      const char* from = &old[order[i] * (width + value_)];
      memcpy(at.keys + i * at.key_step, from, width);
      memcpy(at.values + i * at.value_step, from + width, value_);
    }
  }

  Element key_;
  size_t value_;
  bool flag_;
  bool descending_;
};

// (in, elements of a line, how many are wanted, the largest?, lines, distance in a line, out, its
// distance, places, their distance, …): first those beyond the last that is wanted, in order of
// place, then as many that equal it.
class TopEmulation : public Emulation {
 public:
  explicit TopEmulation(Element element) : Emulation(Arguments()), element_(element) {}

  Outcome Run(const KernelLaunch& launch, KernelMemory* memory) const override {
    Strided in;
    Strided out;
    Strided places;
    const uint64_t count = launch.Get<uint32_t>(1, 0);
    const uint64_t wanted = launch.Get<uint32_t>(2, 0);
    const uint64_t lines = launch.Get<uint32_t>(4, 0);
    if (!ReadTensorInfo(launch, 0, &in) || !ReadTensorInfo(launch, 6, &out) ||
        !ReadTensorInfo(launch, 8, &places) || wanted == 0 || wanted > count || lines == 0) {
      return Outcome::kNotUnderstood;
    }
    const size_t width = BytesOf(element_);
    if (lines * count > launch.limits.bytes / width) return Outcome::kTooLarge;
    const uint64_t in_step = launch.Get<uint32_t>(5, 0);
    const uint64_t out_step = launch.Get<uint32_t>(7, 0);
    const uint64_t place_step = launch.Get<uint32_t>(9, 0);
    char* to = memory->At(out.address, (out.Reach() + (wanted - 1) * out_step) * width, true);
    char* place_bytes =
        memory->At(places.address, (places.Reach() + (wanted - 1) * place_step) * 8, true);
    const char* from = memory->At(in.address, (in.Reach() + (count - 1) * in_step) * width, false);
    if (to == nullptr || place_bytes == nullptr || from == nullptr) {
      return Outcome::kIllegalAddress;
    }
    if (!memory->Begin()) return Outcome::kUncomputed;
    const bool largest = launch.Get<uint8_t>(3, 0) != 0;
    for (uint64_t line = 0; line < lines; ++line) {
      const char* line_at = from + in.Offset(line) * width;
      std::vector<size_t> chosen =
          ComputeType(element_) == Element::kInt64
              ? Choose<int64_t>(line_at, in_step * width, count, wanted, largest)
              : Choose<double>(line_at, in_step * width, count, wanted, largest);
      for (uint64_t i = 0; i < wanted; ++i) {
        const auto place = static_cast<int64_t>(chosen[i]);
        memcpy(to + (out.Offset(line) + i * out_step) * width,
               line_at + chosen[i] * in_step * width, width);
        memcpy(place_bytes + (places.Offset(line) + i * place_step) * 8, &place, 8);
      }
    }
    return Outcome::kDone;
  }

 private:
  static std::vector<Argument> Arguments() {
    // Those behind are not looked at.
    return {{kTensorInfoBytes, 8},
            {4, 4},
            {4, 4},
            {1, 1},
            {4, 4},
            {4, 4},
            {kTensorInfoBytes, 8},
            {4, 4},
            {kTensorInfoBytes, 8},
            {4, 4}};
  }

  template <typename T>
  std::vector<size_t> Choose(const char* from, uint64_t step, uint64_t count, uint64_t wanted,
                             bool largest) const {
    const std::vector<T> line = ReadLine<T>(element_, from, static_cast<int64_t>(step), count);
    std::vector<size_t> order = OrderOf(line, largest);
    order.resize(wanted);
    const T last = line[order.back()];
    const auto equals = std::find_if(order.begin(), order.end(), [&](size_t i) {
      return !Less(line[i], last) && !Less(last, line[i]);
    });
    std::sort(order.begin(), equals);  // by place; those that equal the last are so already
    return order;
  }

  Element element_;
};

// One pass of CUB's radix sort, or all of them: (…, keys out, keys in, values out, values in,
// elements, first bit, bits, …)
class RadixEmulation : public Emulation {
 public:
  struct Form {
    Element key = Element::kNone;
    size_t value = 0;  // bytes; 0: there are only keys
    bool descending = false;
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
      if (form_.descending) digits[i] = mask - digits[i];
    }
    std::vector<size_t> order(total);
    std::iota(order.begin(), order.end(), size_t{0});
    std::stable_sort(order.begin(), order.end(),
                     [&](size_t a, size_t b) { return digits[a] < digits[b]; });
    // In and out may be the same memory.
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

  // The key as a whole number whose order is the key's.
  uint64_t Twiddled(const char* at, size_t width) const {
    uint64_t bits = 0;
    memcpy(&bits, at, width);
    const uint64_t top = uint64_t{1} << (8 * width - 1);
    const uint64_t all = top | (top - 1);
    switch (form_.key) {
      case Element::kFloat:
      case Element::kDouble:
      case Element::kHalf:
      case Element::kBfloat16:
        if (bits == top) bits = 0;  // zeros are equal
        return (bits & top) != 0 ? ~bits & all : bits | top;
      case Element::kInt8:
      case Element::kInt16:
      case Element::kInt32:
      case Element::kInt64:
        return bits ^ top;
      default:
        return bits;
    }
  }

  Form form_;
};

// (numbers, how many, by what they are taken the remainder of): 0, 1, …, again and again.
class CountingEmulation : public Emulation {
 public:
  CountingEmulation() : Emulation({{8, 8}, {4, 4}, {12, 4}}) {}

  Outcome Run(const KernelLaunch& launch, KernelMemory* memory) const override {
    const auto count = launch.Get<int32_t>(1, 0);
    const auto period = launch.Get<uint32_t>(2, 0);
    if (count <= 0 || period == 0) return Outcome::kNotUnderstood;
    const auto total = static_cast<uint64_t>(count);
    if (total > launch.limits.bytes / 8) return Outcome::kTooLarge;
    char* to = memory->At(launch.Get<uint64_t>(0, 0), total * 8, true);
    if (to == nullptr) return Outcome::kIllegalAddress;
    if (!memory->Begin()) return Outcome::kUncomputed;
    for (uint64_t i = 0; i < total; ++i) {
      const auto value = static_cast<int64_t>(i % period);
      memcpy(to + 8 * i, &value, 8);
    }
    return Outcome::kDone;
  }
};

// Prepares what the effects of other kernels do not need.
class HelperEmulation : public Emulation {
 public:
  HelperEmulation() : Emulation({}) {}
  Outcome Run(const KernelLaunch& /*launch*/, KernelMemory* /*memory*/) const override {
    return Outcome::kDone;
  }
};

// bitonicSortKVInPlace<…, key, value, comparator, index>, warpMergeSortKVInPlace<…, the same, …>,
// radixSortKVInPlace<…, key, value, index>
EmulationPointer MakeLineSort(const TemplateName& kernel) {
  const bool radix = kernel.head == "radixSortKVInPlace";
  const bool merge = kernel.head == "warpMergeSortKVInPlace";
  if ((!radix && !merge && kernel.head != "bitonicSortKVInPlace") || kernel.arguments.size() < 7) {
    return nullptr;
  }
  const Element key = ElementNamed(kernel.arguments[4]);
  const size_t value = BytesOf(ElementNamed(kernel.arguments[5]));
  if (key == Element::kNone || value == 0) return nullptr;
  if (radix) {
    if (kernel.arguments[6] != "unsigned int") return nullptr;
    return std::make_unique<LineSortEmulation>(key, value, true, false, false);
  }
  const TemplateName comparator = ParseTemplate(kernel.arguments[6]);
  const bool known = comparator.head == "LTOp" || comparator.head == "GTOp";
  if (!known || kernel.arguments.size() < 8 || kernel.arguments[7] != "unsigned int") {
    return nullptr;
  }
  return std::make_unique<LineSortEmulation>(key, value, false, comparator.head == "GTOp", merge);
}

// CUB sorts half and bfloat16 by CUDA's names for them.
Element KeyNamed(std::string_view name) {
  if (name == "__half") return Element::kHalf;
  if (name == "__nv_bfloat16") return Element::kBfloat16;
  return ElementNamed(name);
}

// DeviceRadixSortOnesweepKernel<policy, order, key, value, …>, DeviceRadixSortSingleTileKernel
EmulationPointer MakeRadix(const TemplateName& kernel) {
  RadixEmulation::Form form;
  form.whole = kernel.head.ends_with("::DeviceRadixSortSingleTileKernel");
  if ((!form.whole && !kernel.head.ends_with("::DeviceRadixSortOnesweepKernel")) ||
      kernel.arguments.size() < 5) {
    return nullptr;
  }
  form.descending = kernel.arguments[1].ends_with(")1");
  form.key = KeyNamed(kernel.arguments[2]);
  const TemplateName value = ParseTemplate(kernel.arguments[3]);
  if (value.head.ends_with("OpaqueType") && value.arguments.size() == 1) {
    const std::string bytes(value.arguments[0]);
    form.value = strtoul(bytes.c_str(), nullptr, 10);
  } else if (!value.head.ends_with("NullType")) {
    form.value = BytesOf(ElementNamed(kernel.arguments[3]));
    if (form.value == 0) return nullptr;
  }
  return form.key == Element::kNone ? nullptr : std::make_unique<RadixEmulation>(form);
}

}  // namespace

EmulationPointer MakeSort(const TemplateName& kernel) {
  if (EmulationPointer lines = MakeLineSort(kernel)) return lines;
  if (EmulationPointer radix = MakeRadix(kernel)) return radix;
  if (kernel.head == "fill_reverse_indices_kernel") return std::make_unique<CountingEmulation>();
  // sbtopk::gatherTopK<element, index, dimensions, …>, mbtopk::gatherTopK<…>
  if (kernel.head.ends_with("gatherTopK") && kernel.arguments.size() >= 3 &&
      kernel.arguments[1] == "unsigned int") {
    const Element element = ElementNamed(kernel.arguments[0]);
    if (element != Element::kNone) return std::make_unique<TopEmulation>(element);
  }
  return nullptr;
}

EmulationPointer MakeHelper(const TemplateName& kernel) {
  static constexpr std::string_view kHelpers[] = {
      "::scan::DeviceScanInitKernel",
      "::scan::DeviceCompactInitKernel",
      "::scan_by_key::DeviceScanByKeyInitKernel",
      "::radix_sort::DeviceRadixSortHistogramKernel",
      "::radix_sort::DeviceRadixSortExclusiveSumKernel",
      "mbtopk::computeBlockwiseWithinKCounts",
      "mbtopk::computeBlockwiseKthCounts",
      "mbtopk::computeBlockDigitCounts",
      "mbtopk::computeDigitCumSum",
      "mbtopk::fill",
  };
  for (const std::string_view helper : kHelpers) {
    if (kernel.head.ends_with(helper)) return std::make_unique<HelperEmulation>();
  }
  // Sums of counts that mbtopk::gatherTopK would need.
  const bool counts = kernel.head.ends_with("::DeviceScanByKeyKernel") &&
                      !kernel.arguments.empty() &&
                      kernel.arguments[0].find("mbtopk::") != std::string_view::npos;
  return counts ? std::make_unique<HelperEmulation>() : nullptr;
}

}  // namespace vramstow::simulator
