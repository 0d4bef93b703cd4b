// Running sums and products: cumsum, cumprod.
//
// Source: ATen/native/cuda/ScanUtils.cuh of PyTorch 2.15, and CUB's device-wide scan of CUDA 13,
// which PyTorch takes for a whole tensor in one row. Sums of float are formed in double and
// rounded at each element, where a card adds in float in an order of its own.
#include <type_traits>

#include "simulator/kernels/named/kernels.h"
#include "simulator/kernels/named/loop.h"

namespace vramstow::simulator {
namespace {

struct Scan {
  Element element = Element::kNone;
  bool product = false;
};

// Rows of `count` elements, `stride` elements apart; inner rows lie side by side.
struct Lines {
  int64_t outer = 0;
  int64_t inner = 0;
  int64_t count = 0;
};

class ScanEmulation : public Emulation {
 protected:
  ScanEmulation(std::vector<Argument> arguments, const Scan& scan)
      : Emulation(std::move(arguments)), scan_(scan) {}

  static size_t WidthOf(const Scan& scan) { return BytesOf(scan.element); }

  Outcome RunLines(const KernelLaunch& launch, KernelMemory* memory, uint64_t to, uint64_t from,
                   const Lines& lines) const {
    if (lines.outer <= 0 || lines.inner <= 0 || lines.count <= 0) return Outcome::kNotUnderstood;
    const size_t width = WidthOf(scan_);
    const auto rows = static_cast<uint64_t>(lines.outer) * static_cast<uint64_t>(lines.inner);
    const auto count = static_cast<uint64_t>(lines.count);
    if (count > launch.limits.bytes / (2 * width) / rows) {
      return Outcome::kTooLarge;
    }
    const char* in = memory->At(from, rows * count * width, false);
    char* out = memory->At(to, rows * count * width, true);
    if (in == nullptr || out == nullptr) return Outcome::kIllegalAddress;
    if (!memory->Begin()) return Outcome::kUncomputed;
    if (ComputeType(scan_.element) == Element::kInt64) {
      Run<uint64_t, int64_t>(in, out, lines);
    } else {
      Run<double, double>(in, out, lines);
    }
    return Outcome::kDone;
  }

 private:
  // Total: what whole numbers wrap around in.
  template <typename Total, typename T>
  void Run(const char* in, char* out, const Lines& lines) const {
    const auto width = static_cast<int64_t>(WidthOf(scan_));
    const int64_t stride = lines.inner * width;
    std::vector<T> line(static_cast<size_t>(lines.count));
    for (int64_t i = 0; i < lines.outer * lines.inner; ++i) {
      const int64_t at =
          i / lines.inner * lines.inner * lines.count * width + i % lines.inner * width;
      LoadElements(scan_.element, in + at, stride, line.size(), line.data());
      Total total = scan_.product ? 1 : 0;
      for (T& value : line) {
        total =
            scan_.product ? total * static_cast<Total>(value) : total + static_cast<Total>(value);
        value = static_cast<T>(total);
      }
      StoreElements(scan_.element, line.data(), line.size(), out + at, stride);
    }
  }

  Scan scan_;
};

// (out, in, rows, elements of a row, …, the neutral element, the operation)
class InnerScan : public ScanEmulation {
 public:
  explicit InnerScan(const Scan& scan)
      : ScanEmulation(
            {{8, 8}, {8, 8}, {4, 4}, {4, 4}, {4, 4}, {WidthOf(scan), WidthOf(scan)}, {1, 1}},
            scan) {}

  Outcome Run(const KernelLaunch& launch, KernelMemory* memory) const override {
    return RunLines(launch, memory, launch.Get<uint64_t>(0, 0), launch.Get<uint64_t>(1, 0),
                    {launch.Get<uint32_t>(2, 0), 1, launch.Get<uint32_t>(3, 0)});
  }
};

// (out, in, outer rows, inner rows, elements of a row, the neutral element, the operation)
class OuterScan : public ScanEmulation {
 public:
  explicit OuterScan(const Scan& scan)
      : ScanEmulation(
            {{8, 8}, {8, 8}, {4, 4}, {4, 4}, {4, 4}, {WidthOf(scan), WidthOf(scan)}, {1, 1}},
            scan) {}

  Outcome Run(const KernelLaunch& launch, KernelMemory* memory) const override {
    return RunLines(
        launch, memory, launch.Get<uint64_t>(0, 0), launch.Get<uint64_t>(1, 0),
        {launch.Get<uint32_t>(2, 0), launch.Get<uint32_t>(3, 0), launch.Get<uint32_t>(4, 0)});
  }
};

// (in, out, the state of tiles, the first tile, the operation, no neutral element, elements)
class WholeScan : public ScanEmulation {
 public:
  explicit WholeScan(const Scan& scan)
      : ScanEmulation({{8, 8}, {8, 8}, {8, 8}, {4, 4}, {1, 1}, {1, 1}, {4, 4}}, scan) {}

  Outcome Run(const KernelLaunch& launch, KernelMemory* memory) const override {
    if (launch.Get<int32_t>(3, 0) != 0) return Outcome::kNotUnderstood;
    return RunLines(launch, memory, launch.Get<uint64_t>(1, 0), launch.Get<uint64_t>(0, 0),
                    {1, 1, launch.Get<uint32_t>(6, 0)});
  }
};

bool SetOperation(std::string_view operation, Scan* scan) {
  const TemplateName name = ParseTemplate(operation);
  if ((name.head != "std::plus" && name.head != "std::multiplies") || name.arguments.size() != 1) {
    return false;
  }
  scan->product = name.head == "std::multiplies";
  scan->element = ElementNamed(name.arguments[0]);
  return scan->element != Element::kNone && scan->element != Element::kBool;
}

// The element that a pointer points to: "float const*".
Element Pointed(std::string_view type) {
  if (!type.ends_with('*')) return Element::kNone;
  type.remove_suffix(1);
  return ElementNamed(type);
}

}  // namespace

// tensor_kernel_scan_innermost_dim<element, operation>, tensor_kernel_scan_outer_dim<element,
// index, operation>, DeviceScanKernel<policy, in, out, state, operation, NullType, offset, …>
EmulationPointer MakeScan(const TemplateName& kernel) {
  const auto& arguments = kernel.arguments;
  Scan scan;
  if (kernel.head == "tensor_kernel_scan_innermost_dim" && arguments.size() == 2 &&
      SetOperation(arguments[1], &scan)) {
    return std::make_unique<InnerScan>(scan);
  }
  if (kernel.head == "tensor_kernel_scan_outer_dim" && arguments.size() == 3 &&
      SetOperation(arguments[2], &scan)) {
    return std::make_unique<OuterScan>(scan);
  }
  if (kernel.head.ends_with("::scan::DeviceScanKernel") && arguments.size() >= 7 &&
      SetOperation(arguments[4], &scan) && Pointed(arguments[1]) == scan.element &&
      Pointed(arguments[2]) == scan.element && arguments[5].ends_with("NullType") &&
      arguments[6] == "unsigned int") {
    return std::make_unique<WholeScan>(scan);
  }
  return nullptr;
}

}  // namespace vramstow::simulator
