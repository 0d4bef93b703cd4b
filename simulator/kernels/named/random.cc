// Emulates the kernels that fill a tensor with random numbers: uniform, normal, Bernoulli,
// exponential, and whole numbers.
//
// Source: ATen/native/cuda/DistributionTemplates.h of PyTorch 2.15, which shows the order in which
// the threads of the grid draw numbers, and the members of the lambdas that transform the numbers.
// The same seed and offset give the same numbers in each run. They are close to the numbers of a
// GPU, but not equal in every bit.
#include <algorithm>
#include <cmath>
#include <numbers>

#include "base/rounding.h"
#include "simulator/kernels/named/generator.h"
#include "simulator/kernels/named/kernels.h"
#include "simulator/kernels/named/loop.h"
#include "simulator/kernels/named/philox.h"

namespace vramstow::simulator {
namespace {

enum class Draw : uint8_t { kUniform, kNormal, kBits32, kBits64 };
enum class Shaping : uint8_t { kUniform, kNormal, kBernoulli, kExponential, kRange, kWhole };

struct Distribution {
  Draw draw = Draw::kUniform;
  Shaping shaping = Shaping::kUniform;
  Element element = Element::kNone;  // of the tensor
  Element number = Element::kNone;   // of the drawn number and the lambda's members
  int drawn = 4;                     // numbers per draw
  bool strided = false;              // the lambda holds an offset calculator
};

// Converts number `i` of one draw, which has four words, to a fraction; a double uses two words.
double Fraction(const std::array<uint32_t, 4>& words, int i, bool wide) {
  if (!wide) return words[i] * 0x1p-32 + 0x1p-33;
  const uint64_t both = words[2 * i] ^ static_cast<uint64_t>(words[2 * i + 1]) << 21;
  return static_cast<double>(both) * 0x1p-53 + 0x1p-54;
}

// Computes the Box-Muller transform of two uniform numbers into two normal ones.
double Normal(const std::array<uint32_t, 4>& words, int i, bool wide) {
  const double u = Fraction(words, i & ~1, wide);
  const double v = Fraction(words, i | 1, wide) * 2 * std::numbers::pi;
  const double radius = std::sqrt(-2 * std::log(u));
  return radius * ((i & 1) == 0 ? std::sin(v) : std::cos(v));
}

class DistributionEmulation : public Emulation {
 public:
  explicit DistributionEmulation(const Distribution& distribution)
      : Emulation(
            {{8, 8}, {32, 8}, {1, 1}, {Members(distribution) + MembersBytes(distribution), 8}}),
        distribution_(distribution) {}

  Outcome Run(const KernelLaunch& launch, KernelMemory* memory) const override {
    const auto count = launch.Get<int64_t>(0, 0);
    Shape shape;
    Operand tensor;
    tensor.element = distribution_.element;
    if (count <= 0) return Outcome::kNotUnderstood;
    if (distribution_.strided) {
      if (!ReadOffsetCalculator((*launch.arguments)[3], count, &shape, &tensor)) {
        return Outcome::kNotUnderstood;
      }
      tensor.address = launch.Get<uint64_t>(3, kStridedAddress);
    } else {
      shape = Shape::Row(count);
      tensor.address = launch.Get<uint64_t>(3, 0);
      tensor.strides[0] = launch.Get<int32_t>(3, 8);
    }
    if (static_cast<uint64_t>(count) > launch.limits.bytes / BytesOf(tensor.element)) {
      return Outcome::kTooLarge;
    }
    uint64_t seed = 0;
    uint64_t offset = 0;
    if (!ReadGenerator(launch, memory, 1, &seed, &offset)) return Outcome::kIllegalAddress;
    const uint64_t begin = tensor.Begin(shape);
    char* base = memory->At(begin, tensor.End(shape) - begin, true);
    if (base == nullptr) return Outcome::kIllegalAddress;
    if (!memory->Begin()) return Outcome::kUncomputed;
    Fill(launch, seed, offset, shape, tensor, base + (tensor.address - begin));
    return Outcome::kDone;
  }

  // The time for a byte relative to the time for copying it, as measured.
  uint64_t Effort() const override {
    return distribution_.shaping == Shaping::kNormal ||
                   distribution_.shaping == Shaping::kExponential
               ? 32
               : 16;
  }

 private:
  static constexpr size_t kStridedAddress = 408;  // behind the offset calculator of one operand

  // The probability of a Bernoulli distribution is always a double.
  static size_t MemberBytes(const Distribution& distribution) {
    const bool wide =
        distribution.shaping == Shaping::kRange || distribution.shaping == Shaping::kBernoulli;
    return wide ? 8 : BytesOf(distribution.number);
  }

  // Members returns the offset of the transform's members within the lambda, and MembersBytes their
  // size.
  static size_t Members(const Distribution& distribution) {
    const size_t before = distribution.strided ? kStridedAddress + 8 : 12;
    const size_t unit = MemberBytes(distribution);
    return RoundUp(before, unit);
  }
  static size_t MembersBytes(const Distribution& distribution) {
    const size_t unit = MemberBytes(distribution);
    switch (distribution.shaping) {
      case Shaping::kUniform:
        return 3 * unit;
      case Shaping::kNormal:
        return 2 * unit;
      case Shaping::kBernoulli:
      case Shaping::kExponential:
        return unit;
      case Shaping::kRange:
        return 16;
      case Shaping::kWhole:
        return 0;
    }
    return 0;
  }

  double Member(const KernelLaunch& launch, int i) const {
    const size_t unit = MemberBytes(distribution_);
    const size_t at = Members(distribution_) + i * unit;
    return unit == 8 ? launch.Get<double>(3, at) : launch.Get<float>(3, at);
  }

  double Fractional(const KernelLaunch& launch, const std::array<uint32_t, 4>& words, int i) const {
    const bool wide = distribution_.number == Element::kDouble;
    switch (distribution_.shaping) {
      case Shaping::kUniform: {
        // The members are the range, its begin and its end. The drawn fraction is above 0 and at
        // most 1, but the result must not be the end, so the end is replaced by the begin.
        const double value = Fraction(words, i, wide) * Member(launch, 0) + Member(launch, 1);
        const bool is_end =
            wide ? value == Member(launch, 2)
                 : static_cast<float>(value) >= static_cast<float>(Member(launch, 2));
        return is_end ? Member(launch, 1) : value;
      }
      case Shaping::kNormal:
        return Normal(words, i, wide) * Member(launch, 1) + Member(launch, 0);
      case Shaping::kBernoulli:
        return Fraction(words, i, wide) <= Member(launch, 0) ? 1 : 0;
      default:
        return -std::log(Fraction(words, i, wide)) / Member(launch, 0);
    }
  }

  int64_t Whole(const KernelLaunch& launch, const std::array<uint32_t, 4>& words, int i) const {
    const uint64_t bits = distribution_.draw == Draw::kBits32
                              ? words[i]
                              : static_cast<uint64_t>(words[2 * i]) << 32 | words[2 * i + 1];
    if (distribution_.shaping == Shaping::kRange) {
      const auto range = launch.Get<uint64_t>(3, Members(distribution_));
      const auto base = launch.Get<uint64_t>(3, Members(distribution_) + 8);
      return static_cast<int64_t>((range == 0 ? bits : bits % range) + base);
    }
    switch (distribution_.element) {
      case Element::kBool:
        return static_cast<int64_t>(bits & 1);
      case Element::kFloat:
        return static_cast<int64_t>(bits % ((1ull << 24) + 1));
      case Element::kDouble:
        return static_cast<int64_t>(bits % ((1ull << 53) + 1));
      case Element::kHalf:
        return static_cast<int64_t>(bits % ((1ull << 11) + 1));
      case Element::kBfloat16:
        return static_cast<int64_t>(bits % ((1ull << 8) + 1));
      default: {
        // The result is at most the largest number of the type, which is possible, too.
        const bool is_signed = distribution_.element != Element::kUint8;
        const size_t width = 8 * BytesOf(distribution_.element) - (is_signed ? 1 : 0);
        return static_cast<int64_t>(bits & ((1ull << width) - 1));
      }
    }
  }

  void Store(const KernelLaunch& launch, const std::array<uint32_t, 4>& words, int which,
             char* to) const {
    if (distribution_.draw == Draw::kBits32 || distribution_.draw == Draw::kBits64) {
      const int64_t value = Whole(launch, words, which);
      StoreElements(distribution_.element, &value, 1, to, 0);
    } else {
      const double value = Fractional(launch, words, which);
      StoreElements(distribution_.element, &value, 1, to, 0);
    }
  }

  // Fills the tensor. A thread draws `drawn` numbers at once; they belong to elements whose indexes
  // differ by the number of threads. The thread of an element is its index modulo that number.
  void Fill(const KernelLaunch& launch, uint64_t seed, uint64_t offset, const Shape& shape,
            const Operand& tensor, char* base) const {
    const uint64_t threads =
        std::max<uint64_t>(static_cast<uint64_t>(launch.grid[0]) * launch.block[0], 1);
    const auto drawn = static_cast<uint64_t>(distribution_.drawn);
    if (!distribution_.strided) {
      return FillRow(launch, seed, offset / 4, threads, static_cast<uint64_t>(shape.sizes[0]),
                     tensor.strides[0], base);
    }
    uint64_t index = 0;
    ForEachRun(shape, tensor, [&](int64_t begin, uint64_t run) {
      for (uint64_t i = 0; i < run; ++i, ++index) {
        const uint64_t turn = index / threads;
        const std::array<uint32_t, 4> words =
            Philox(seed, index % threads, offset / 4 + turn / drawn);
        Store(launch, words, static_cast<int>(turn % drawn),
              base + begin + tensor.strides[0] * static_cast<int64_t>(i));
      }
    });
  }

  // Does the same as Fill for a tensor of one dimension, and makes each draw only once.
  void FillRow(const KernelLaunch& launch, uint64_t seed, uint64_t first_draw, uint64_t threads,
               uint64_t count, int64_t stride, char* base) const {
    const auto drawn = static_cast<uint64_t>(distribution_.drawn);
    for (uint64_t begin = 0, draw = first_draw; begin < count; begin += threads * drawn, ++draw) {
      for (uint64_t thread = 0; thread < threads && begin + thread < count; ++thread) {
        const std::array<uint32_t, 4> words = Philox(seed, thread, draw);
        for (uint64_t which = 0; which < drawn; ++which) {
          const uint64_t index = begin + which * threads + thread;
          if (index >= count) break;
          Store(launch, words, static_cast<int>(which),
                base + stride * static_cast<int64_t>(index));
        }
      }
    }
  }

  Distribution distribution_;
};

bool SetShaping(std::string_view function, Distribution* distribution) {
  static constexpr struct {
    std::string_view function;
    Draw draw;
    Shaping shaping;
  } kFunctions[] = {
      {"uniform_kernel", Draw::kUniform, Shaping::kUniform},
      {"normal_kernel", Draw::kNormal, Shaping::kNormal},
      {"bernoulli_kernel", Draw::kUniform, Shaping::kBernoulli},
      {"exponential_kernel", Draw::kUniform, Shaping::kExponential},
      {"random_from_to_kernel", Draw::kBits32, Shaping::kRange},
      {"random_kernel", Draw::kBits32, Shaping::kWhole},
  };
  for (const auto& entry : kFunctions) {
    if (function != entry.function) continue;
    distribution->draw = entry.draw;
    distribution->shaping = entry.shaping;
    return true;
  }
  return false;
}

}  // namespace

// The template arguments of distribution_elementwise_grid_stride_kernel are the type of the drawn
// number, the numbers per draw, the function that draws, and the transform. The transform is a
// lambda of distribution_nullary_kernel. Its first lambda (#1) holds an address and a stride, and
// its second one (#2) an offset calculator and an address; the lambda of the distribution follows
// these members.
EmulationPointer MakeDistribution(const TemplateName& kernel) {
  if (kernel.head != "distribution_elementwise_grid_stride_kernel" ||
      kernel.arguments.size() != 4) {
    return nullptr;
  }
  Distribution distribution;
  distribution.number = ElementNamed(kernel.arguments[0]);
  const FunctorName transform = ParseFunctor(kernel.arguments[3]);
  if (transform.head != "distribution_nullary_kernel" || transform.arguments.size() < 5) {
    return nullptr;
  }
  distribution.element = ElementNamed(transform.arguments[0]);
  distribution.strided = transform.number == 2;
  if (!SetShaping(ParseFunctor(transform.arguments.back()).head, &distribution)) return nullptr;
  if (distribution.number == Element::kUint64) distribution.draw = Draw::kBits64;
  const bool whole =
      distribution.number == Element::kUint32 || distribution.number == Element::kUint64;
  const bool wants_whole =
      distribution.shaping == Shaping::kRange || distribution.shaping == Shaping::kWhole;
  distribution.drawn = BytesOf(distribution.number) == 8 ? 2 : 4;
  if (distribution.element == Element::kNone || distribution.number == Element::kNone ||
      whole != wants_whole) {
    return nullptr;
  }
  return std::make_unique<DistributionEmulation>(distribution);
}

}  // namespace vramstow::simulator
