// Kernels that move elements: cat, index_select (embedding among them), gathers of whole rows.
//
// Source: CatArrayBatchedCopy and kin in ATen/native/cuda/Shape.cu, indexSelectSmallIndex and
// indexSelectLargeIndex in Indexing.cu, vectorized_gather_kernel in IndexKernelUtils.h; all of
// PyTorch 2.15, with 32-bit indices.
#include <algorithm>
#include <charconv>

#include "base/rounding.h"
#include "simulator/kernels/named/kernels.h"
#include "simulator/kernels/named/loop.h"
#include "simulator/kernels/named/tensor_info.h"

namespace vramstow::simulator {
namespace {

size_t NumberOf(std::string_view text) {
  size_t number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

// (output, {input[n], offset[n], dimSize[n], elements[n], contiguous[n], {size[4], stride[4]}[m]},
// {size[4], stride[4]} of the output, the dimension, its stride)
class CatEmulation : public Emulation {
 public:
  struct Form {
    size_t dimensions = 0;
    size_t inputs = 0;
    size_t strided = 0;  // inputs with strides of their own: all, or 1 that is never used
    size_t element = 0;  // bytes
    size_t vector = 1;   // elements that are moved at once; sizes of the output count these
    bool vectorized = false;
  };

  explicit CatEmulation(const Form& form)
      : Emulation({{8, 8}, {Layout(form).bytes, 8}, {32, 4}, {4, 4}, {4, 4}}),
        form_(form),
        layout_(form) {}

  Outcome Run(const KernelLaunch& launch, KernelMemory* memory) const override {
    const size_t inputs = launch.grid[1];
    const auto dimension = launch.Get<uint32_t>(3, 0);
    if (inputs == 0 || inputs > form_.inputs || dimension >= form_.dimensions) {
      return Outcome::kNotUnderstood;
    }
    uint64_t total = 0;
    for (size_t i = 0; i < inputs; ++i) total += Elements(launch, i);
    if (total > launch.limits.bytes / (2 * form_.element)) return Outcome::kTooLarge;
    Outcome whole = Outcome::kDone;
    for (size_t i = 0; i < inputs; ++i) {
      const Outcome outcome = CopyInput(launch, i, dimension, memory);
      if (outcome == Outcome::kUncomputed) {
        whole = outcome;
      } else if (outcome != Outcome::kDone) {
        return outcome;
      }
    }
    return whole;
  }

 private:
  static constexpr size_t kDimensions = 4;

  struct Layout {
    explicit Layout(const Form& form) {
      offsets = 8 * form.inputs;
      sizes = offsets + 4 * form.inputs;
      elements = sizes + 4 * form.inputs;
      contiguous = elements + 4 * form.inputs;
      strides = RoundUp(contiguous + form.inputs, 4);
      bytes = RoundUp(strides + 32 * form.strided, 8);
    }
    size_t offsets, sizes, elements, contiguous, strides, bytes;
  };

  uint32_t Elements(const KernelLaunch& launch, size_t input) const {
    return launch.Get<uint32_t>(1, layout_.elements + 4 * input);
  }

  Strided ReadShape(const KernelLaunch& launch, size_t argument, size_t offset) const {
    Strided shape;
    shape.dimensions = form_.dimensions;
    for (size_t i = 0; i < form_.dimensions; ++i) {
      shape.sizes[i] = launch.Get<uint32_t>(argument, offset + 4 * i);
      shape.strides[i] = launch.Get<uint32_t>(argument, offset + 4 * (kDimensions + i));
    }
    return shape;
  }

  Outcome CopyInput(const KernelLaunch& launch, size_t input, uint32_t dimension,
                    KernelMemory* memory) const {
    const uint64_t count = Elements(launch, input) / form_.vector;
    const auto unit = launch.Get<uint32_t>(4, 0);
    const size_t bytes = form_.element * form_.vector;
    uint64_t offset =
        static_cast<uint64_t>(launch.Get<uint32_t>(1, layout_.offsets + 4 * input)) * unit;
    uint64_t size = launch.Get<uint32_t>(1, layout_.sizes + 4 * input);
    if (form_.vectorized) {
      offset /= form_.vector;
      size = size * unit / form_.vector;
    }
    if (count == 0) return Outcome::kDone;
    Strided out = ReadShape(launch, 2, 0);
    out.sizes[dimension] = static_cast<uint32_t>(size);
    if (out.Reach() == 0) return Outcome::kNotUnderstood;
    const bool contiguous = launch.Get<uint8_t>(1, layout_.contiguous + input) != 0;
    if (!contiguous && form_.strided != form_.inputs) return Outcome::kNotUnderstood;
    const Strided in = contiguous ? Strided() : ReadShape(launch, 1, layout_.strides + 32 * input);
    const uint64_t reach = contiguous ? count : in.Reach();
    if (reach == 0) return Outcome::kNotUnderstood;
    const char* from = memory->At(launch.Get<uint64_t>(1, 8 * input), reach * bytes, false);
    char* to = memory->At(launch.Get<uint64_t>(0, 0) + offset * bytes, out.Reach() * bytes, true);
    if (from == nullptr || to == nullptr) return Outcome::kIllegalAddress;
    if (!memory->Begin()) return Outcome::kUncomputed;
    for (uint64_t i = 0; i < count; ++i) {
      memcpy(to + out.Offset(i) * bytes, from + (contiguous ? i : in.Offset(i)) * bytes, bytes);
    }
    return Outcome::kDone;
  }

  Form form_;
  Layout layout_;
};

EmulationPointer MakeCat(const TemplateName& kernel) {
  if (!kernel.head.starts_with("CatArrayBatchedCopy") || kernel.arguments.size() < 5 ||
      kernel.arguments[1] != "unsigned int") {
    return nullptr;
  }
  CatEmulation::Form form;
  form.element = BytesOf(ElementNamed(kernel.arguments[0]));
  form.dimensions = NumberOf(kernel.arguments[2]);
  form.inputs = NumberOf(kernel.arguments[3]);
  form.strided = NumberOf(kernel.arguments[4]);
  form.vectorized = kernel.head == "CatArrayBatchedCopy_vectorized";
  if (form.vectorized && kernel.arguments.size() == 7) {
    form.vector = NumberOf(kernel.arguments[6]);
  }
  if (form.element == 0 || form.dimensions == 0 || form.dimensions > 4 || form.inputs == 0 ||
      form.inputs > 1024 || form.strided > form.inputs || form.vector == 0) {
    return nullptr;
  }
  return std::make_unique<CatEmulation>(form);
}

// (dst, src, indices, the dimension in dst, in src, [total elements,] elements per index, how many
// there are to choose from), the first three as TensorInfo.
class SelectEmulation : public Emulation {
 public:
  SelectEmulation(size_t element, size_t index, bool large)
      : Emulation(Arguments(large)), element_(element), index_(index), last_(large ? 7 : 6) {}

  Outcome Run(const KernelLaunch& launch, KernelMemory* memory) const override {
    Strided to;
    Strided from;
    Strided indices;
    if (!ReadTensorInfo(launch, 0, &to) || !ReadTensorInfo(launch, 1, &from) ||
        !ReadTensorInfo(launch, 2, &indices)) {
      return Outcome::kNotUnderstood;
    }
    const auto to_dimension = launch.Get<uint32_t>(3, 0);
    const auto from_dimension = launch.Get<uint32_t>(4, 0);
    const auto inner = launch.Get<uint32_t>(last_ - 1, 0);
    const auto choices = launch.Get<int64_t>(last_, 0);
    uint64_t count = 1;
    for (size_t i = 0; i < indices.dimensions; ++i) count *= indices.sizes[i];
    if (to_dimension >= to.dimensions || from_dimension >= from.dimensions || choices <= 0 ||
        choices > UINT32_MAX || count > UINT32_MAX || count == 0 || inner == 0) {
      return Outcome::kNotUnderstood;
    }
    if (count > launch.limits.bytes / (2 * element_ * inner)) return Outcome::kTooLarge;
    const uint64_t to_step = to.strides[to_dimension];
    const uint64_t from_step = from.strides[from_dimension];
    const char* index_bytes = memory->At(indices.address, indices.Reach() * index_, false);
    const char* source = memory->At(
        from.address, (from.Reach() + static_cast<uint64_t>(choices - 1) * from_step) * element_,
        false);
    char* target = memory->At(to.address, (to.Reach() + (count - 1) * to_step) * element_, true);
    if (index_bytes == nullptr || source == nullptr || target == nullptr) {
      return Outcome::kIllegalAddress;
    }
    if (!memory->Begin()) return Outcome::kUncomputed;
    for (uint64_t i = 0; i < count; ++i) {
      const int64_t chosen = Index(index_bytes + indices.Offset(i) * index_);
      if (chosen < 0 || chosen >= choices) return Outcome::kAssertion;
      for (uint64_t j = 0; j < inner; ++j) {
        memcpy(target + (to.Offset(j) + i * to_step) * element_,
               source + (from.Offset(j) + static_cast<uint64_t>(chosen) * from_step) * element_,
               element_);
      }
    }
    return Outcome::kDone;
  }

 private:
  static std::vector<Argument> Arguments(bool large) {
    std::vector<Argument> arguments(3, {kTensorInfoBytes, 8});
    arguments.insert(arguments.end(), large ? 4 : 3, {4, 4});
    arguments.push_back({8, 8});
    return arguments;
  }

  int64_t Index(const char* at) const {
    int64_t index = 0;
    LoadElements(index_ == 4 ? Element::kInt32 : Element::kInt64, at, 0, 1, &index);
    return index;
  }

  size_t element_;
  size_t index_;
  size_t last_;  // the last argument
};

EmulationPointer MakeSelect(const TemplateName& kernel) {
  const bool large = kernel.head == "indexSelectLargeIndex";
  if ((!large && kernel.head != "indexSelectSmallIndex") || kernel.arguments.size() < 3 ||
      kernel.arguments[2] != "unsigned int") {
    return nullptr;
  }
  const size_t element = BytesOf(ElementNamed(kernel.arguments[0]));
  const size_t index = BytesOf(ElementNamed(kernel.arguments[1]));
  if (element == 0 || (index != 4 && index != 8)) return nullptr;
  return std::make_unique<SelectEmulation>(element, index, large);
}

// (out, in, indices, how many, bytes of a row, rows to choose from, stride of in, of out, whether
// negative indices count from the end)
class RowsEmulation : public Emulation {
 public:
  explicit RowsEmulation(size_t index)
      : Emulation({{8, 8}, {8, 8}, {8, 8}, {4, 4}, {8, 8}, {8, 8}, {8, 8}, {8, 8}, {1, 1}}),
        index_(index) {}

  Outcome Run(const KernelLaunch& launch, KernelMemory* memory) const override {
    const auto count = launch.Get<int32_t>(3, 0);
    const auto bytes = launch.Get<int64_t>(4, 0);
    const auto rows = launch.Get<int64_t>(5, 0);
    const auto in_stride = launch.Get<int64_t>(6, 0);
    const auto out_stride = launch.Get<int64_t>(7, 0);
    constexpr int64_t kMost = int64_t{1} << 31;
    if (count <= 0 || bytes <= 0 || rows <= 0 || in_stride < 0 || out_stride < 0 ||
        bytes >= kMost || rows >= kMost || in_stride >= kMost || out_stride >= kMost) {
      return Outcome::kNotUnderstood;
    }
    const auto total = static_cast<uint64_t>(bytes) * static_cast<uint64_t>(count);
    if (total > launch.limits.bytes / 2) return Outcome::kTooLarge;
    const char* indices = memory->At(launch.Get<uint64_t>(2, 0), count * index_, false);
    const char* from = memory->At(launch.Get<uint64_t>(1, 0),
                                  static_cast<uint64_t>((rows - 1) * in_stride + bytes), false);
    char* to = memory->At(launch.Get<uint64_t>(0, 0),
                          static_cast<uint64_t>((count - 1) * out_stride + bytes), true);
    if (indices == nullptr || from == nullptr || to == nullptr) return Outcome::kIllegalAddress;
    if (!memory->Begin()) return Outcome::kUncomputed;
    for (int64_t i = 0; i < count; ++i) {
      int64_t row = 0;
      LoadElements(index_ == 4 ? Element::kInt32 : Element::kInt64, indices + i * index_, 0, 1,
                   &row);
      if (row < 0 && launch.Get<uint8_t>(8, 0) != 0) row += rows;
      if (row < 0 || row >= rows) return Outcome::kAssertion;
      memcpy(to + i * out_stride, from + row * in_stride, static_cast<size_t>(bytes));
    }
    return Outcome::kDone;
  }

 private:
  size_t index_;
};

EmulationPointer MakeRows(const TemplateName& kernel) {
  if (kernel.head != "vectorized_gather_kernel" || kernel.arguments.size() != 2) return nullptr;
  const size_t index = BytesOf(ElementNamed(kernel.arguments[1]));
  return index == 4 || index == 8 ? std::make_unique<RowsEmulation>(index) : nullptr;
}

}  // namespace

EmulationPointer MakeGather(const TemplateName& kernel) {
  if (EmulationPointer cat = MakeCat(kernel)) return cat;
  if (EmulationPointer select = MakeSelect(kernel)) return select;
  return MakeRows(kernel);
}

}  // namespace vramstow::simulator
