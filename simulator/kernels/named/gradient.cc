// What happens to gradients on their way: norms of lists of them, scaling, those of embeddings.
//
// Source: ForeachReduceOp.cu, AmpKernels.cu and Embedding.cu in ATen/native/cuda of PyTorch 2.15.
#include <algorithm>
#include <cmath>

#include "base/rounding.h"
#include "simulator/kernels/named/kernels.h"
#include "simulator/kernels/named/tensor_list.h"

namespace vramstow::simulator {
namespace {

// (a list, functor, the sums of blocks, where each tensor's begin): sums of squares.
class NormPartsEmulation : public Emulation {
 public:
  NormPartsEmulation(Element element, Element sum)
      : Emulation({{TensorListLayout(1, 0, true).bytes, 8}, {1, 1}, {8, 8}, {8, 8}}),
        layout_(1, 0, true),
        element_(element),
        sum_(sum) {}

  Outcome Run(const KernelLaunch& launch, KernelMemory* memory) const override {
    return RunParts(launch, layout_, BytesOf(element_),
                    [&](const ListPart& part) { return Add(launch, part, memory); });
  }

 private:
  static constexpr uint64_t kChunk = 65536;

  // A part's sums: one for each chunk, as the cleanup expects it.
  Outcome Add(const KernelLaunch& launch, const ListPart& part, KernelMemory* memory) const {
    const auto start = static_cast<uint64_t>(launch.Get<int32_t>(0, layout_.start));
    const char* begin_at =
        memory->At(launch.Get<uint64_t>(3, 0) + 8 * (start + part.tensor), 8, false);
    if (begin_at == nullptr) return Outcome::kIllegalAddress;
    int64_t begin = 0;
    memcpy(&begin, begin_at, 8);
    const uint64_t chunks = DivideUp(part.count, kChunk);
    const uint64_t width = BytesOf(sum_);
    const uint64_t place = static_cast<uint64_t>(begin) + part.first / kChunk;
    char* to = memory->At(launch.Get<uint64_t>(2, 0) + place * width, chunks * width, true);
    PartOfLists lists(launch, layout_, part, element_);
    if (to == nullptr || !lists.Locate(memory, 0)) return Outcome::kIllegalAddress;
    if (!memory->Begin()) return Outcome::kUncomputed;
    for (uint64_t chunk = 0; chunk < chunks; ++chunk) {
      double sum = 0;
      const uint64_t end = std::min(part.count, (chunk + 1) * kChunk);
      for (uint64_t i = chunk * kChunk; i < end; ++i) {
        const double value = lists.Get(0, i);
        sum += value * value;
      }
      StoreElements(sum_, &sum, 1, to + chunk * width, 0);
    }
    return Outcome::kDone;
  }

  TensorListLayout layout_;
  Element element_;
  Element sum_;
};

// (the sums of blocks, the addresses of the norms, where each tensor's sums begin, the number of
// the first tensor)
class NormEmulation : public Emulation {
 public:
  NormEmulation(Element sum, Element out, bool root)
      : Emulation({{8, 8}, {8 * kNorms, 8}, {8, 8}, {4, 4}}), sum_(sum), out_(out), root_(root) {}

  Outcome Run(const KernelLaunch& launch, KernelMemory* memory) const override {
    const size_t norms = launch.grid[0];
    const auto start = static_cast<uint64_t>(launch.Get<int32_t>(3, 0));
    if (norms > kNorms) return Outcome::kNotUnderstood;
    for (size_t i = 0; i < norms; ++i) {
      const char* range = memory->At(launch.Get<uint64_t>(2, 0) + 8 * (start + i), 16, false);
      if (range == nullptr) return Outcome::kIllegalAddress;
      int64_t bounds[2];
      memcpy(bounds, range, sizeof(bounds));
      const int64_t count = bounds[1] - bounds[0];
      const auto width = static_cast<int64_t>(BytesOf(sum_));
      constexpr int64_t kMost = int64_t{1} << 32;
      if (bounds[0] < 0 || bounds[0] > kMost || count <= 0 || count > kMost) {
        return Outcome::kNotUnderstood;
      }
      char* to = memory->At(launch.Get<uint64_t>(1, 8 * i), BytesOf(out_), true);
      const char* sums =
          memory->At(launch.Get<uint64_t>(0, 0) + static_cast<uint64_t>(bounds[0] * width),
                     static_cast<uint64_t>(count * width), false);
      if (to == nullptr || sums == nullptr) return Outcome::kIllegalAddress;
      if (!memory->Begin()) continue;
      double total = 0;
      for (int64_t j = 0; j < count; ++j) {
        double sum = 0;
        LoadElements(sum_, sums + j * width, 0, 1, &sum);
        total += sum;
      }
      if (root_) total = std::sqrt(total);
      StoreElements(out_, &total, 1, to, 0);
    }
    return Outcome::kDone;
  }

 private:
  static constexpr size_t kNorms = 512;

  Element sum_;
  Element out_;
  bool root_;
};

// (a list, functor, {the address of whether infinities were found, of the scale's reciprocal})
class UnscaleEmulation : public Emulation {
 public:
  explicit UnscaleEmulation(Element element)
      : Emulation({{TensorListLayout(1, 0, true).bytes, 8}, {1, 1}, {16, 8}}),
        layout_(1, 0, true),
        element_(element) {}

  Outcome Run(const KernelLaunch& launch, KernelMemory* memory) const override {
    return RunParts(launch, layout_, BytesOf(element_), [&](const ListPart& part) {
      PartOfLists lists(launch, layout_, part, element_);
      char* found = memory->At(launch.Get<uint64_t>(2, 0), 4, true);
      const char* factor_at = memory->At(launch.Get<uint64_t>(2, 8), 4, false);
      if (found == nullptr || factor_at == nullptr || !lists.Locate(memory, 1)) {
        return Outcome::kIllegalAddress;
      }
      if (!memory->Begin()) return Outcome::kUncomputed;
      double factor = 0;
      LoadElements(Element::kFloat, factor_at, 0, 1, &factor);
      for (uint64_t i = 0; i < lists.count(); ++i) {
        const double value = lists.Get(0, i);
        const double one = 1;
        if (!std::isfinite(value)) StoreElements(Element::kFloat, &one, 1, found, 0);
        lists.Set(0, i, factor == 1 ? value : value * factor);
      }
      return Outcome::kDone;
    });
  }

 private:
  TensorListLayout layout_;
  Element element_;
};

// (scale, steps without infinities, whether one was found, growth, backoff, steps until it grows)
class ScaleEmulation : public Emulation {
 public:
  ScaleEmulation() : Emulation({{8, 8}, {8, 8}, {8, 8}, {8, 8}, {8, 8}, {4, 4}}) {}

  Outcome Run(const KernelLaunch& launch, KernelMemory* memory) const override {
    char* scale_at = memory->At(launch.Get<uint64_t>(0, 0), 4, true);
    char* steps_at = memory->At(launch.Get<uint64_t>(1, 0), 4, true);
    const char* found_at = memory->At(launch.Get<uint64_t>(2, 0), 4, false);
    if (scale_at == nullptr || steps_at == nullptr || found_at == nullptr) {
      return Outcome::kIllegalAddress;
    }
    if (!memory->Begin()) return Outcome::kUncomputed;
    float scale = 0;
    float found = 0;
    int32_t steps = 0;
    memcpy(&scale, scale_at, 4);
    memcpy(&steps, steps_at, 4);
    memcpy(&found, found_at, 4);
    if (found != 0) {
      scale *= static_cast<float>(launch.Get<double>(4, 0));
      steps = 0;
    } else if (++steps == launch.Get<int32_t>(5, 0)) {
      const auto grown = scale * static_cast<float>(launch.Get<double>(3, 0));
      if (std::isfinite(grown)) scale = grown;
      steps = 0;
    }
    memcpy(scale_at, &scale, 4);
    memcpy(steps_at, &steps, 4);
    return Outcome::kDone;
  }
};

// (indices, gradients of rows, the table's gradient, indices there are, columns, an index that is
// left alone)
class EmbeddingEmulation : public Emulation {
 public:
  EmbeddingEmulation(Element element, size_t index)
      : Emulation({{8, 8}, {8, 8}, {8, 8}, {4, 4}, {8, 8}, {4, 4}}),
        element_(element),
        index_(index == 4 ? Element::kInt32 : Element::kInt64) {}

  Outcome Run(const KernelLaunch& launch, KernelMemory* memory) const override {
    const auto count = launch.Get<int32_t>(3, 0);
    const auto columns = launch.Get<int64_t>(4, 0);
    if (count <= 0 || columns <= 0 || columns > INT32_MAX) return Outcome::kNotUnderstood;
    const uint64_t row = static_cast<uint64_t>(columns) * BytesOf(element_);
    if (static_cast<uint64_t>(count) > launch.limits.bytes / 2 / row) return Outcome::kTooLarge;
    const size_t width = BytesOf(index_);
    const char* indices = memory->At(launch.Get<uint64_t>(0, 0), count * width, false);
    const char* from = memory->At(launch.Get<uint64_t>(1, 0), count * row, false);
    if (indices == nullptr || from == nullptr) return Outcome::kIllegalAddress;
    // How large the table is, nobody says; what is written lies up to the largest index.
    std::vector<int64_t> places(static_cast<size_t>(count));
    LoadElements(index_, indices, static_cast<int64_t>(width), places.size(), places.data());
    const auto largest = *std::max_element(places.begin(), places.end());
    if (*std::min_element(places.begin(), places.end()) < 0 || largest > INT32_MAX) {
      return Outcome::kIllegalAddress;
    }
    const uint64_t table = launch.Get<uint64_t>(2, 0);
    const uint64_t reach = static_cast<uint64_t>(largest + 1) * row;
    memory->At(table, reach, false);  // it adds to what is there
    char* to = memory->At(table, reach, true);
    if (to == nullptr) return Outcome::kIllegalAddress;
    if (!memory->Begin()) return Outcome::kUncomputed;
    const auto padding = launch.Get<int32_t>(5, 0);
    std::vector<double> sum(static_cast<size_t>(columns));
    std::vector<double> more(sum.size());
    const auto step = static_cast<int64_t>(BytesOf(element_));
    for (size_t i = 0; i < places.size(); ++i) {
      if (places[i] == padding) continue;
      char* at = to + static_cast<uint64_t>(places[i]) * row;
      LoadElements(element_, at, step, sum.size(), sum.data());
      LoadElements(element_, from + i * row, step, more.size(), more.data());
      for (size_t j = 0; j < sum.size(); ++j) sum[j] += more[j];
      StoreElements(element_, sum.data(), sum.size(), at, step);
    }
    return Outcome::kDone;
  }

 private:
  Element element_;
  Element index_;
};

bool IsFloating(Element element) {
  return element == Element::kFloat || element == Element::kDouble || element == Element::kHalf ||
         element == Element::kBfloat16;
}

}  // namespace

EmulationPointer MakeGradient(const TemplateName& kernel) {
  const auto& arguments = kernel.arguments;
  if (kernel.head == "amp_update_scale_cuda_kernel") return std::make_unique<ScaleEmulation>();
  if (kernel.head == "multi_tensor_apply_kernel" && arguments.size() >= 3) {
    const TemplateName functor = ParseTemplate(arguments[1]);
    const auto& types = functor.arguments;
    if (types.size() < 2 || !IsFloating(ElementNamed(types[0]))) return nullptr;
    const Element element = ElementNamed(types[0]);
    if (functor.head == "LpNormFunctor" && types.size() == 6 && arguments.size() == 4 &&
        types[1].ends_with(")2") && arguments[3] == "long const*") {
      return std::make_unique<NormPartsEmulation>(element, OpmathType(ElementNamed(types[2])));
    }
    const bool unscales = arguments[2].find("_amp_foreach_non_finite_check_and_unscale_cuda_") !=
                          std::string_view::npos;
    if (functor.head == "UnaryOpFunctor" && types[1] == "1" && unscales) {
      return std::make_unique<UnscaleEmulation>(element);
    }
    return nullptr;
  }
  if (arguments.empty() || !IsFloating(ElementNamed(arguments[0]))) return nullptr;
  // lpnorm_cleanup<element, norm, out, whether a root is taken, kept in>
  if (kernel.head == "lpnorm_cleanup" && arguments.size() == 5 && arguments[1].ends_with(")2")) {
    return std::make_unique<NormEmulation>(ElementNamed(arguments[4]), ElementNamed(arguments[2]),
                                           arguments[3] == "true");
  }
  // embedding_backward_feature_kernel<element, kept in, index>
  if (kernel.head == "embedding_backward_feature_kernel" && arguments.size() == 3) {
    const size_t index = BytesOf(ElementNamed(arguments[2]));
    if (index != 4 && index != 8) return nullptr;
    return std::make_unique<EmbeddingEmulation>(ElementNamed(arguments[0]), index);
  }
  return nullptr;
}

}  // namespace vramstow::simulator
