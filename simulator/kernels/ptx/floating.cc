// Implements instructions on f32 and f64. Operations that GPUs approximate are computed as exactly
// as the host can, within the error bounds of the PTX ISA.
#include <cfenv>
#include <cmath>

#include "simulator/kernels/ptx/floating_operations.h"
#include "simulator/kernels/ptx/handlers.h"
#include "simulator/kernels/ptx/select.h"

namespace vramstow::simulator::ptx {
namespace {

// Executes an operation with the rounding of .rz, .rm or .rp. The host's rounding mode is changed
// before and after the operation. The volatile variables keep the compiler from moving the
// operation out of these two changes.
template <typename Operation, int kMode>
struct Directed {
  template <typename T, typename... Same>
  static T Of(T first, Same... more) {
    const int before = std::fegetround();
    std::fesetround(kMode);
    volatile T source = first;
    volatile T result = Operation::Of(source, more...);
    std::fesetround(before);
    return result;
  }
};
template <typename Operation, typename T, size_t kSources, int kMode>
struct InDirection;
template <typename Operation, typename T, int kMode>
struct InDirection<Operation, T, 1, kMode> {
  static T Of(T a) { return Directed<Operation, kMode>::Of(a); }
};
template <typename Operation, typename T, int kMode>
struct InDirection<Operation, T, 2, kMode> {
  static T Of(T a, T b) { return Directed<Operation, kMode>::Of(a, b); }
};
template <typename Operation, typename T, int kMode>
struct InDirection<Operation, T, 3, kMode> {
  static T Of(T a, T b, T c) { return Directed<Operation, kMode>::Of(a, b, c); }
};

template <typename Operation, typename T>
struct Flushed {
  template <typename... Same>
  static T Compute(Same... values) {
    return Flush(Operation::Of(Flush(values)...));
  }
};
template <typename Operation, typename T, size_t kSources>
struct WithFlush;
template <typename Operation, typename T>
struct WithFlush<Operation, T, 1> {
  static T Of(T a) { return Flushed<Operation, T>::Compute(a); }
};
template <typename Operation, typename T>
struct WithFlush<Operation, T, 2> {
  static T Of(T a, T b) { return Flushed<Operation, T>::Compute(a, b); }
};
template <typename Operation, typename T>
struct WithFlush<Operation, T, 3> {
  static T Of(T a, T b, T c) { return Flushed<Operation, T>::Compute(a, b, c); }
};

template <typename T, Handler kHandler>
bool DoSaturated(const Instruction& i, Thread& thread) {
  kHandler(i, thread);
  thread.Set<T>(i.out, Saturate(thread.Get<T>(i.out)));
  return true;
}

// The variants that an operation may have.
enum Variant : unsigned {
  kPlain = 0,
  kFlush = 1,
  kSaturate = 2,
};

template <template <typename> class Operation, size_t kSources>
bool Use(Selection* s, Type type, unsigned variants) {
  if (!s->Plain(kSources, type)) return false;
  if (type == Type{'f', 64}) {
    // Only rcp and rsqrt have .ftz for doubles.
    if (variants == kFlush) {
      return s->Use(Apply<double, WithFlush<Operation<double>, double, kSources>>);
    }
    return variants == kPlain && s->Use(Apply<double, Operation<double>>);
  }
  if (type != Type{'f', 32}) return false;
  using Flushing = WithFlush<Operation<float>, float, kSources>;
  switch (variants) {
    case kPlain:
      return s->Use(Apply<float, Operation<float>>);
    case kFlush:
      return s->Use(Apply<float, Flushing>);
    case kSaturate:
      return s->Use(DoSaturated<float, Apply<float, Operation<float>>>);
    default:
      return s->Use(DoSaturated<float, Apply<float, Flushing>>);
  }
}

unsigned ParseVariants(Selection* s) {
  unsigned variants = kPlain;
  if (s->Take("ftz")) variants |= kFlush;
  if (s->Take("sat")) variants |= kSaturate;
  return variants;
}

template <template <typename> class Operation, size_t kSources, int kMode>
struct Turned {
  template <typename T>
  using In = InDirection<Operation<T>, T, kSources, kMode>;
};

template <template <typename> class Operation, size_t kSources, int kMode>
bool UseDirected(Selection* s) {
  const unsigned variants = ParseVariants(s);
  return Use<Turned<Operation, kSources, kMode>::template In, kSources>(s, s->ParseTypeModifier(),
                                                                        variants);
}

// Selects add, sub, mul, fma, div, sqrt, rcp and others, rounded to nearest, in a direction, or
// approximated.
template <template <typename> class Operation, size_t kSources>
bool SelectRounded(Selection* s) {
  if (s->Take("rz")) return UseDirected<Operation, kSources, FE_TOWARDZERO>(s);
  if (s->Take("rm")) return UseDirected<Operation, kSources, FE_DOWNWARD>(s);
  if (s->Take("rp")) return UseDirected<Operation, kSources, FE_UPWARD>(s);
  s->ParseAny({"rn", "approx", "full"});
  const unsigned variants = ParseVariants(s);
  return Use<Operation, kSources>(s, s->ParseTypeModifier(), variants);
}

template <template <typename> class Operation, template <typename> class OrNan>
bool SelectExtreme(Selection* s) {
  const unsigned variants = s->Take("ftz") ? kFlush : kPlain;
  if (s->Take("NaN")) return Use<OrNan, 2>(s, s->ParseTypeModifier(), variants);
  return Use<Operation, 2>(s, s->ParseTypeModifier(), variants);
}

enum class Test { kFinite, kInfinite, kNumber, kNotANumber, kNormal, kSubnormal };

template <typename T, Test kTest>
bool TestProperty(const Instruction& i, Thread& thread) {
  const int kind = std::fpclassify(thread.Get<T>(i.in[0]));
  bool holds = false;
  switch (kTest) {
    case Test::kFinite:
      holds = kind != FP_INFINITE && kind != FP_NAN;
      break;
    case Test::kInfinite:
      holds = kind == FP_INFINITE;
      break;
    case Test::kNumber:
      holds = kind != FP_NAN;
      break;
    case Test::kNotANumber:
      holds = kind == FP_NAN;
      break;
    case Test::kNormal:
      holds = kind == FP_NORMAL;
      break;
    case Test::kSubnormal:
      holds = kind == FP_SUBNORMAL;
      break;
  }
  thread.Set<bool>(i.out, holds);
  return true;
}

template <Test kTest>
bool UseTest(Selection* s) {
  const Type type = s->ParseTypeModifier();
  if (!s->Plain(1, type)) return false;
  if (type == Type{'f', 32}) return s->Use(TestProperty<float, kTest>);
  return type == Type{'f', 64} && s->Use(TestProperty<double, kTest>);
}

bool SelectTest(Selection* s) {
  if (s->Take("finite")) return UseTest<Test::kFinite>(s);
  if (s->Take("infinite")) return UseTest<Test::kInfinite>(s);
  if (s->Take("number")) return UseTest<Test::kNumber>(s);
  if (s->Take("notanumber")) return UseTest<Test::kNotANumber>(s);
  if (s->Take("normal")) return UseTest<Test::kNormal>(s);
  return s->Take("subnormal") && UseTest<Test::kSubnormal>(s);
}

}  // namespace

Selector FindFloating(std::string_view name) {
  static constexpr SelectorRow kRows[] = {
      {"add", SelectRounded<Add, 2>},
      {"sub", SelectRounded<Subtract, 2>},
      {"mul", SelectRounded<Multiply, 2>},
      {"div", SelectRounded<Divide, 2>},
      {"fma", SelectRounded<MultiplyAdd, 3>},
      {"mad", SelectRounded<MultiplyAdd, 3>},
      {"min", SelectExtreme<Minimum, MinimumOrNan>},
      {"max", SelectExtreme<Maximum, MaximumOrNan>},
      {"abs", SelectRounded<Absolute, 1>},
      {"neg", SelectRounded<Negate, 1>},
      {"sqrt", SelectRounded<SquareRoot, 1>},
      {"rsqrt", SelectRounded<ReciprocalRoot, 1>},
      {"rcp", SelectRounded<Reciprocal, 1>},
      {"sin", SelectRounded<Sine, 1>},
      {"cos", SelectRounded<Cosine, 1>},
      {"lg2", SelectRounded<Logarithm, 1>},
      {"ex2", SelectRounded<Exponential, 1>},
      {"tanh", SelectRounded<HyperbolicTangent, 1>},
      {"copysign", SelectRounded<CopySign, 2>},
      {"testp", SelectTest},
  };
  return FindIn(kRows, name);
}

}  // namespace vramstow::simulator::ptx
