// Reductions: sum, mean, product, all, any, largest, smallest, their places, norms, variance.
//
// Source: reduce_kernel and ReduceOp in ATen/native/cuda/Reduce.cuh, and SharedReduceOps.h of
// PyTorch 2.15: one argument, a struct of the operation, the neutral element, a ReduceConfig, two
// offset calculators and the addresses. Sums are formed in double and rounded once, where a card
// adds in float in an order of its own: results agree to its precision.
#include <algorithm>
#include <cmath>
#include <limits>

#include "base/rounding.h"
#include "simulator/kernels/named/kernels.h"
#include "simulator/kernels/named/loop.h"

namespace vramstow::simulator {
namespace {

enum class Fold : uint8_t {
  kSum,
  kMean,
  kProduct,
  kAll,
  kAny,
  kLargest,
  kSmallest,
  kPlaceOfLargest,
  kPlaceOfSmallest,
  kLargestAndPlace,
  kSmallestAndPlace,
  kSpan,  // the smallest and the largest
  kNormOne,
  kNormTwo,
  kLargestAbsolute,
  kSmallestAbsolute,
  kVariance,
};

struct Reduction {
  Fold fold = Fold::kSum;
  Element input = Element::kNone;
  Element output = Element::kNone;
  // The struct's beginning: the operation object and the neutral element.
  size_t object_bytes = 1;
  size_t ident_bytes = 4;
  size_t ident_alignment = 4;
  Element member = Element::kNone;  // of the operation object: mean's factor, variance's correction
};

struct Layout {
  explicit Layout(const Reduction& reduction) {
    config = RoundUp(
        RoundUp(reduction.object_bytes, reduction.ident_alignment) + reduction.ident_bytes, 4);
    input_calculator = config + 64;  // ReduceConfig: 16 words
    output_calculator = input_calculator + OffsetCalculatorBytes(1);
    source = RoundUp(output_calculator + OffsetCalculatorBytes(2), 8);
    bytes = source + 72;
  }
  size_t config;
  size_t input_calculator;
  size_t output_calculator;
  size_t source;
  size_t Destination(int i) const { return source + 8 + 8 * static_cast<size_t>(i); }
  size_t Accumulator() const { return source + 24; }
  size_t Accumulates() const { return source + 56; }
  size_t IsFinal() const { return source + 57; }
  size_t Outputs() const { return source + 60; }
  size_t bytes;
};

bool WithPlace(Fold fold) {
  return fold == Fold::kLargestAndPlace || fold == Fold::kSmallestAndPlace;
}

bool NamesPlace(Fold fold) {
  return fold == Fold::kPlaceOfLargest || fold == Fold::kPlaceOfSmallest || WithPlace(fold);
}

bool AddsUp(Fold fold) { return fold == Fold::kSum || fold == Fold::kMean; }

// What has been seen so far; T is double or int64_t.
template <typename T>
class State {
 public:
  State(Fold fold, double member) : fold_(fold), member_(member) {
    if (fold == Fold::kProduct || fold == Fold::kAll) value_ = 1;
  }

  void Add(const T* values, size_t count) {
    if (AddsUp(fold_)) {
      value_ = Plus(value_, SumOf(values, count));
      count_ += count;
      return;
    }
    for (size_t i = 0; i < count; ++i) Add(values[i]);
  }

  static T Plus(T a, T b) {
    if constexpr (std::is_floating_point_v<T>) return a + b;
    return static_cast<T>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
  }

  double Result() const {
    switch (fold_) {
      case Fold::kMean:
        return static_cast<double>(value_) * member_;
      case Fold::kNormTwo:
        return std::sqrt(static_cast<double>(value_));
      case Fold::kVariance:
        return static_cast<double>(count_) > member_
                   ? squares_ / (static_cast<double>(count_) - member_)
                   : std::numeric_limits<double>::quiet_NaN();
      default:
        return static_cast<double>(value_);
    }
  }
  T value() const { return value_; }
  int64_t place() const { return place_; }
  double mean() const { return mean_; }

 private:
  // Is `a` to be taken instead of what was taken so far? Not-a-number goes before all others.
  bool Beats(T a, bool larger) const {
    if (count_ == 0) return true;
    if constexpr (std::is_floating_point_v<T>) {
      if (std::isnan(value_)) return false;
      if (std::isnan(a)) return true;
    }
    return larger ? a > value_ : a < value_;
  }

  void Take(T a, bool better) {
    if (!better) return;
    value_ = a;
    place_ = static_cast<int64_t>(count_);
  }

  void Add(T a) {
    const T magnitude = a < 0 ? static_cast<T>(-a) : a;
    switch (fold_) {
      case Fold::kSum:
      case Fold::kMean:
        value_ = Plus(value_, a);
        break;
      case Fold::kProduct:
        value_ = Times(value_, a);
        break;
      case Fold::kAll:
        value_ = static_cast<T>(value_ != 0 && a != 0);
        break;
      case Fold::kAny:
        value_ = static_cast<T>(value_ != 0 || a != 0);
        break;
      case Fold::kLargest:
      case Fold::kPlaceOfLargest:
      case Fold::kLargestAndPlace:
        Take(a, Beats(a, true));
        break;
      case Fold::kSmallest:
      case Fold::kPlaceOfSmallest:
      case Fold::kSmallestAndPlace:
      case Fold::kSpan:
        Take(a, Beats(a, false));
        break;
      case Fold::kNormOne:
        value_ = Plus(value_, magnitude);
        break;
      case Fold::kNormTwo:
        value_ = Plus(value_, Times(a, a));
        break;
      case Fold::kLargestAbsolute:
        Take(magnitude, Beats(magnitude, true));
        break;
      case Fold::kSmallestAbsolute:
        Take(magnitude, Beats(magnitude, false));
        break;
      case Fold::kVariance: {
        // Welford's method.
        const double delta = static_cast<double>(a) - mean_;
        mean_ += delta / static_cast<double>(count_ + 1);
        squares_ += delta * (static_cast<double>(a) - mean_);
        break;
      }
    }
    ++count_;
  }

  // Several sums side by side, which do not wait for each other.
  static T SumOf(const T* values, size_t count) {
    constexpr size_t kSums = 8;
    T sums[kSums] = {};
    size_t i = 0;
    for (; i + kSums <= count; i += kSums) {
      for (size_t j = 0; j < kSums; ++j) sums[j] = Plus(sums[j], values[i + j]);
    }
    for (; i < count; ++i) sums[0] = Plus(sums[0], values[i]);
    for (size_t j = 1; j < kSums; ++j) sums[0] = Plus(sums[0], sums[j]);
    return sums[0];
  }

  static T Times(T a, T b) {
    if constexpr (std::is_floating_point_v<T>) return a * b;
    return static_cast<T>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
  }

  Fold fold_;
  double member_;
  T value_ = 0;
  uint64_t count_ = 0;
  int64_t place_ = 0;
  double mean_ = 0;
  double squares_ = 0;
};

class ReductionEmulation : public Emulation {
 public:
  explicit ReductionEmulation(const Reduction& reduction)
      : Emulation({{Layout(reduction).bytes, 8}}), reduction_(reduction), layout_(reduction) {}

  Outcome Run(const KernelLaunch& launch, KernelMemory* memory) const override {
    const auto inputs = launch.Get<int32_t>(0, layout_.config + 4);
    const auto outputs = launch.Get<int32_t>(0, layout_.config + 8);
    const char* argument = (*launch.arguments)[0];
    Tensors tensors;
    if (inputs <= 0 || outputs <= 0 ||
        launch.Get<int32_t>(0, layout_.config) != static_cast<int32_t>(reduction_.ident_bytes) ||
        !ReadOffsetCalculator(argument + layout_.input_calculator, 1, inputs, &tensors.inner,
                              &tensors.in) ||
        !ReadOffsetCalculator(argument + layout_.output_calculator, 2, outputs, &tensors.outer,
                              tensors.out) ||
        launch.Get<uint64_t>(0, layout_.Accumulator()) != 0 ||
        launch.Get<uint8_t>(0, layout_.Accumulates()) != 0 ||
        launch.Get<uint8_t>(0, layout_.IsFinal()) != 1) {
      return Outcome::kNotUnderstood;
    }
    const uint64_t bytes = BytesOf(reduction_.input);
    if (static_cast<uint64_t>(inputs) * static_cast<uint64_t>(outputs) >
        launch.limits.bytes / bytes) {
      return Outcome::kTooLarge;
    }
    if (!Locate(launch, memory, &tensors)) return Outcome::kIllegalAddress;
    if (!memory->Begin()) return Outcome::kUncomputed;
    if (ComputeType(reduction_.input) == Element::kInt64) {
      Reduce<int64_t>(launch, tensors);
    } else {
      Reduce<double>(launch, tensors);
    }
    return Outcome::kDone;
  }

 private:
  struct Tensors {
    Shape inner;     // of what is folded into one output
    Shape outer;     // of the outputs
    Operand in;      // strides within inner
    Operand out[2];  // within outer: of the outputs, of the input
    char* source = nullptr;
    char* destination = nullptr;
    char* second = nullptr;  // variance: the mean
  };

  bool Locate(const KernelLaunch& launch, KernelMemory* memory, Tensors* tensors) const {
    tensors->in.element = reduction_.input;
    tensors->out[0].element = reduction_.output;
    tensors->out[1].element = reduction_.input;
    tensors->out[1].address = launch.Get<uint64_t>(0, layout_.source);
    tensors->in.address = tensors->out[1].address;
    const uint64_t inner = tensors->in.End(tensors->inner) - tensors->in.address;
    const uint64_t width = tensors->out[1].End(tensors->outer) - tensors->out[1].address;
    tensors->source =
        memory->At(tensors->in.address, inner + width - BytesOf(reduction_.input), false);
    if (tensors->source == nullptr) return false;
    const bool pair = reduction_.fold == Fold::kSpan || WithPlace(reduction_.fold);
    const bool two = (reduction_.fold == Fold::kVariance || pair) &&
                     launch.Get<int32_t>(0, layout_.Outputs()) == 2;
    if (pair && !two) return false;
    for (int i = 0; i < (two ? 2 : 1); ++i) {
      tensors->out[0].address = launch.Get<uint64_t>(0, layout_.Destination(i));
      uint64_t reach = tensors->out[0].End(tensors->outer) - tensors->out[0].address;
      if (i == 1 && WithPlace(reduction_.fold)) reach = reach / BytesOf(reduction_.output) * 8;
      char* to = memory->At(tensors->out[0].address, reach, true);
      if (to == nullptr) return false;
      (i == 0 ? tensors->destination : tensors->second) = to;
    }
    return true;
  }

  double MemberOf(const KernelLaunch& launch) const {
    if (reduction_.member == Element::kDouble) return launch.Get<double>(0, 0);
    return reduction_.member == Element::kFloat ? launch.Get<float>(0, 0) : 0;
  }

  template <typename T>
  void Reduce(const KernelLaunch& launch, const Tensors& tensors) const {
    const double member = MemberOf(launch);
    const bool root = reduction_.fold == Fold::kVariance &&
                      launch.Get<uint8_t>(0, BytesOf(reduction_.member)) != 0;
    const bool columns =
        AddsUp(reduction_.fold) &&
        tensors.out[1].strides[0] == static_cast<int64_t>(BytesOf(reduction_.input));
    ForEachRun(tensors.outer, tensors.out, 2, [&](const int64_t* offsets, uint64_t run) {
      if (columns) return AddColumns<T>(offsets, run, member, tensors);
      for (uint64_t i = 0; i < run; ++i) {
        const auto at = static_cast<int64_t>(i);
        const char* from = tensors.source + offsets[1] + tensors.out[1].strides[0] * at;
        State<T> state(reduction_.fold, member);
        FoldOne(from, tensors, &state);
        const int64_t to = offsets[0] + tensors.out[0].strides[0] * at;
        StoreResult(state, root, tensors.destination + to);
        if (tensors.second != nullptr) StoreSecond(from, to, state, tensors);
      }
    });
  }

  // The second output lies as the first does, in steps of its own type.
  template <typename T>
  void StoreSecond(const char* from, int64_t to, const State<T>& state,
                   const Tensors& tensors) const {
    if (reduction_.fold == Fold::kVariance) {
      const double mean = state.mean();
      StoreElements(reduction_.output, &mean, 1, tensors.second + to, 0);
    } else if (reduction_.fold == Fold::kSpan) {
      State<T> largest(Fold::kLargest, 0);
      FoldOne(from, tensors, &largest);
      StoreResult(largest, false, tensors.second + to);
    } else {
      const int64_t place = state.place();
      const int64_t step = to / static_cast<int64_t>(BytesOf(reduction_.output));
      memcpy(tensors.second + 8 * step, &place, 8);
    }
  }

  // Sums of columns, a row at a time: outputs whose inputs lie side by side.
  template <typename T>
  void AddColumns(const int64_t* offsets, uint64_t run, double member,
                  const Tensors& tensors) const {
    constexpr uint64_t kChunk = 512;
    T sums[kChunk];
    T row[kChunk];
    const auto width = static_cast<int64_t>(BytesOf(reduction_.input));
    for (uint64_t first = 0; first < run; first += kChunk) {
      const size_t count = std::min(kChunk, run - first);
      const auto at = static_cast<int64_t>(first);
      const char* from = tensors.source + offsets[1] + width * at;
      std::fill_n(sums, count, T{0});
      ForEachRun(tensors.inner, &tensors.in, 1, [&](const int64_t* inner, uint64_t rows) {
        for (uint64_t i = 0; i < rows; ++i) {
          LoadElements(reduction_.input,
                       from + inner[0] + tensors.in.strides[0] * static_cast<int64_t>(i), width,
                       count, row);
          for (size_t j = 0; j < count; ++j) sums[j] = State<T>::Plus(sums[j], row[j]);
        }
      });
      char* to = tensors.destination + offsets[0] + tensors.out[0].strides[0] * at;
      for (size_t j = 0; j < count; ++j, to += tensors.out[0].strides[0]) {
        State<T> state(reduction_.fold, member);
        state.Add(&sums[j], 1);
        StoreResult(state, false, to);
      }
    }
  }

  template <typename T>
  void FoldOne(const char* from, const Tensors& tensors, State<T>* state) const {
    constexpr uint64_t kChunk = 512;
    T buffer[kChunk];
    ForEachRun(tensors.inner, &tensors.in, 1, [&](const int64_t* offsets, uint64_t run) {
      const int64_t stride = tensors.in.strides[0];
      for (uint64_t at = 0; at < run; at += kChunk) {
        const size_t count = std::min(kChunk, run - at);
        LoadElements(reduction_.input, from + offsets[0] + stride * static_cast<int64_t>(at),
                     stride, count, buffer);
        state->Add(buffer, count);
      }
    });
  }

  template <typename T>
  void StoreResult(const State<T>& state, bool root, char* to) const {
    if (reduction_.fold == Fold::kPlaceOfLargest || reduction_.fold == Fold::kPlaceOfSmallest) {
      const int64_t place = state.place();
      StoreElements(reduction_.output, &place, 1, to, 0);
    } else if (std::is_integral_v<T> && reduction_.fold != Fold::kMean) {
      const T value = state.value();
      StoreElements(reduction_.output, &value, 1, to, 0);
    } else {
      const double value = root ? std::sqrt(state.Result()) : state.Result();
      StoreElements(reduction_.output, &value, 1, to, 0);
    }
  }

  Reduction reduction_;
  Layout layout_;
};

// func_wrapper_t<out, F>: an object without members; numbers are kept in F's first type.
bool SetWrapped(std::string_view text, Reduction* reduction) {
  static constexpr struct {
    std::string_view head;
    Fold fold;
  } kFunctions[] = {
      {"sum_functor", Fold::kSum},       {"prod_functor", Fold::kProduct},
      {"and_kernel_cuda", Fold::kAll},   {"or_kernel_cuda", Fold::kAny},
      {"MaxNanFunctor", Fold::kLargest}, {"MinNanFunctor", Fold::kSmallest},
  };
  const FunctorName functor = ParseFunctor(text);
  for (const auto& entry : kFunctions) {
    if (functor.head != entry.head) continue;
    reduction->fold = entry.fold;
    const auto& types = functor.lambda ? functor.parameters : functor.arguments;
    if (types.empty()) return false;
    reduction->ident_bytes = BytesOf(ElementNamed(types[0]));
    reduction->ident_alignment = reduction->ident_bytes;
    return reduction->ident_bytes != 0;
  }
  return false;
}

bool SetClass(const TemplateName& name, Reduction* reduction) {
  static constexpr struct {
    std::string_view head;
    Fold fold;
  } kClasses[] = {
      {"MeanOps", Fold::kMean},
      {"NormOneOps", Fold::kNormOne},
      {"NormTwoOps", Fold::kNormTwo},
      {"AbsMaxOps", Fold::kLargestAbsolute},
      {"AbsMinOps", Fold::kSmallestAbsolute},
      {"ArgMaxOps", Fold::kPlaceOfLargest},
      {"ArgMinOps", Fold::kPlaceOfSmallest},
      {"MaxOps", Fold::kLargestAndPlace},
      {"MinOps", Fold::kSmallestAndPlace},
      {"MinMaxOps", Fold::kSpan},
      {"WelfordOps", Fold::kVariance},
  };
  for (const auto& entry : kClasses) {
    if (name.head != entry.head || name.arguments.empty()) continue;
    reduction->fold = entry.fold;
    // The second argument is what is computed in, if there is one.
    const Element kept = ElementNamed(name.arguments[name.arguments.size() > 1 ? 1 : 0]);
    const size_t bytes = BytesOf(kept);
    if (bytes == 0) return false;
    reduction->ident_bytes = bytes;
    reduction->ident_alignment = bytes;
    if (entry.fold == Fold::kMean) {
      reduction->member = kept;
      reduction->object_bytes = bytes;
    } else if (entry.fold == Fold::kVariance) {
      if (name.arguments.size() < 3 || ElementNamed(name.arguments[2]) != Element::kInt32) {
        return false;
      }
      reduction->member = kept;
      reduction->object_bytes = 2 * bytes;            // correction, take the root?
      reduction->ident_bytes = bytes == 8 ? 32 : 16;  // mean, m2, n, n as a fraction
    } else if (NamesPlace(entry.fold)) {
      reduction->ident_bytes = 16;  // a number and its place
      reduction->ident_alignment = 8;
    } else if (entry.fold == Fold::kSpan) {
      reduction->ident_bytes = 2 * bytes;
    }
    // A root that is not to be taken: NormTwoOps<…, false>.
    return name.head != "NormTwoOps" || name.arguments.back() != "false";
  }
  return false;
}

}  // namespace

// reduce_kernel<threads, vector, ReduceOp<in, ops, index, out, …>>
EmulationPointer MakeReduction(const TemplateName& kernel) {
  if (kernel.head != "reduce_kernel" || kernel.arguments.size() != 3) return nullptr;
  const TemplateName reduce = ParseTemplate(kernel.arguments[2]);
  if (reduce.head != "ReduceOp" || reduce.arguments.size() < 4 ||
      reduce.arguments[2] != "unsigned int") {
    return nullptr;
  }
  Reduction reduction;
  reduction.input = ElementNamed(reduce.arguments[0]);
  reduction.output = ElementNamed(reduce.arguments[3]);
  if (reduction.input == Element::kNone || reduction.output == Element::kNone) return nullptr;
  const TemplateName operation = ParseTemplate(reduce.arguments[1]);
  const bool known =
      operation.head == "func_wrapper_t"
          ? operation.arguments.size() == 2 && SetWrapped(operation.arguments[1], &reduction)
          : SetClass(operation, &reduction);
  return known ? std::make_unique<ReductionEmulation>(reduction) : nullptr;
}

}  // namespace vramstow::simulator
