// The arithmetic of operations, over arrays of numbers.
#include <algorithm>
#include <cmath>
#include <numbers>
#include <type_traits>

#include "simulator/kernels/named/operation.h"

namespace vramstow::simulator {
namespace {

template <typename T, typename F>
void Each(const T* a, T* out, size_t count, F f) {
  for (size_t i = 0; i < count; ++i) out[i] = f(a[i]);
}

template <typename T, typename F>
void Each(const T* a, const T* b, T* out, size_t count, F f) {
  for (size_t i = 0; i < count; ++i) out[i] = f(a[i], b[i]);
}

template <typename T, typename F>
void Each(const T* a, const T* b, const T* c, T* out, size_t count, F f) {
  for (size_t i = 0; i < count; ++i) out[i] = f(a[i], b[i], c[i]);
}

// Whole numbers wrap around; in C++ only unsigned ones do.
template <typename T, typename F>
T Wrapping(T a, T b, F f) {
  if constexpr (std::is_integral_v<T>) {
    return static_cast<T>(f(static_cast<uint64_t>(a), static_cast<uint64_t>(b)));
  } else {
    return f(a, b);
  }
}
template <typename T>
T Sum(T a, T b) {
  return Wrapping(a, b, [](auto x, auto y) { return x + y; });
}
template <typename T>
T Product(T a, T b) {
  return Wrapping(a, b, [](auto x, auto y) { return x * y; });
}
template <typename T>
T Difference(T a, T b) {
  return Wrapping(a, b, [](auto x, auto y) { return x - y; });
}

template <typename T>
bool IsNan(T a) {
  if constexpr (std::is_floating_point_v<T>) return std::isnan(a);
  return false;
}

template <typename T>
bool IsInfinite(T a) {
  if constexpr (std::is_floating_point_v<T>) return std::isinf(a);
  return false;
}

template <typename T>
T Maximum(T a, T b) {
  if (IsNan(a)) return a;
  return IsNan(b) || b > a ? b : a;
}
template <typename T>
T Minimum(T a, T b) {
  if (IsNan(a)) return a;
  return IsNan(b) || b < a ? b : a;
}

template <typename T>
T Truncated(T a, T b) {
  if constexpr (std::is_floating_point_v<T>) {
    return std::trunc(a / b);
  } else {
    return b == 0 || b == -1 ? Difference<T>(0, a) : a / b;
  }
}

// The sign of the result is that of the divisor.
template <typename T>
T Remainder(T a, T b) {
  if constexpr (std::is_floating_point_v<T>) {
    const T rest = std::fmod(a, b);
    return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
  } else {
    if (b == 0 || b == -1) return 0;
    const T rest = a % b;
    return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
  }
}

template <typename T>
T Floored(T a, T b) {
  if constexpr (std::is_floating_point_v<T>) {
    if (b == 0) return a / b;
    return std::floor((a - Remainder(a, b)) / b + static_cast<T>(0.5));
  } else {
    const T quotient = Truncated(a, b);
    return b != 0 && b != -1 && a % b != 0 && (a < 0) != (b < 0) ? quotient - 1 : quotient;
  }
}

template <typename T>
T Fmod(T a, T b) {
  if constexpr (std::is_floating_point_v<T>) return std::fmod(a, b);
  return b == 0 || b == -1 ? 0 : a - Truncated(a, b) * b;
}

template <typename T>
T Raised(T base, T exponent) {
  if constexpr (std::is_floating_point_v<T>) {
    return std::pow(base, exponent);
  } else {
    if (exponent < 0) return base == 1 ? 1 : base == -1 ? (exponent % 2 == 0 ? 1 : -1) : 0;
    T power = 1;
    for (; exponent > 0; exponent /= 2, base = Product(base, base)) {
      if (exponent % 2 != 0) power = Product(power, base);
    }
    return power;
  }
}

// The order of PyTorch's OpType: >=, >, <=, <.
template <typename T>
bool Compared(int32_t mode, T a, T b) {
  switch (mode) {
    case 0:
      return a >= b;
    case 1:
      return a > b;
    case 2:
      return a <= b;
    default:
      return a < b;
  }
}

// The order of PyTorch's ClampLimits: from below, from above, both.
template <typename T>
T Clamped(int32_t mode, T a, T first, T second) {
  if (IsNan(a)) return a;
  if (mode == 0) return std::max(a, first);
  if (mode == 1) return std::min(a, first);
  return std::min(std::max(a, first), second);
}

template <typename T>
T Logistic(T a) {
  return 1 / (1 + std::exp(-a));
}

template <typename T>
constexpr T kSqrtHalf = std::numbers::sqrt2_v<T> / 2;
// sqrt(2/π) and the cubic coefficient of the tanh form of GELU (Hendrycks, Gimpel 2016).
template <typename T>
constexpr T kGeluScale = std::numbers::sqrt2_v<T>* std::numbers::inv_sqrtpi_v<T>;
template <typename T>
constexpr T kGeluCubic = static_cast<T>(0.044715);

template <typename T>
T NormalCdf(T a) {
  return static_cast<T>(0.5) * (1 + std::erf(a * kSqrtHalf<T>));
}

template <typename T>
T GeluTanh(T a) {
  const T inner = kGeluScale<T> * (a + kGeluCubic<T> * a * a * a);
  return static_cast<T>(0.5) * a * (1 + std::tanh(inner));
}

template <typename T>
T GeluTanhSlope(T a) {
  const T tangent = std::tanh(kGeluScale<T> * (a + kGeluCubic<T> * a * a * a));
  const T inner_slope = kGeluScale<T> * (1 + 3 * kGeluCubic<T> * a * a);
  return static_cast<T>(0.5) * (1 + tangent + a * (1 - tangent * tangent) * inner_slope);
}

template <typename T>
T GeluErfSlope(T a) {
  constexpr T kDensity = std::numbers::inv_sqrtpi_v<T> * kSqrtHalf<T>;
  return NormalCdf(a) + a * kDensity * std::exp(-a * a / 2);
}

// Functions of one number that only make sense for fractions. False: not one of them.
template <typename T>
bool ApplyFunction(Op op, const T* a, T* out, size_t count) {
#define VRAMSTOW_FUNCTION(name, expression)                              \
  case Op::name:                                                         \
    Each(a, out, count, [](T x) { return static_cast<T>(expression); }); \
    return true
  switch (op) {
    VRAMSTOW_FUNCTION(kExp, std::exp(x));
    VRAMSTOW_FUNCTION(kExpm1, std::expm1(x));
    VRAMSTOW_FUNCTION(kLog, std::log(x));
    VRAMSTOW_FUNCTION(kLog1p, std::log1p(x));
    VRAMSTOW_FUNCTION(kLog2, std::log2(x));
    VRAMSTOW_FUNCTION(kLog10, std::log10(x));
    VRAMSTOW_FUNCTION(kSqrt, std::sqrt(x));
    VRAMSTOW_FUNCTION(kReciprocalSqrt, 1 / std::sqrt(x));
    VRAMSTOW_FUNCTION(kReciprocal, 1 / x);
    VRAMSTOW_FUNCTION(kSin, std::sin(x));
    VRAMSTOW_FUNCTION(kCos, std::cos(x));
    VRAMSTOW_FUNCTION(kTanh, std::tanh(x));
    VRAMSTOW_FUNCTION(kErf, std::erf(x));
    VRAMSTOW_FUNCTION(kFloor, std::floor(x));
    VRAMSTOW_FUNCTION(kCeil, std::ceil(x));
    VRAMSTOW_FUNCTION(kRound, std::nearbyint(x));
    VRAMSTOW_FUNCTION(kTruncate, std::trunc(x));
    VRAMSTOW_FUNCTION(kSigmoid, Logistic(x));
    VRAMSTOW_FUNCTION(kSilu, x * Logistic(x));
    VRAMSTOW_FUNCTION(kGeluTanh, GeluTanh(x));
    VRAMSTOW_FUNCTION(kGeluErf, x * NormalCdf(x));
    VRAMSTOW_FUNCTION(kInverseSquare, 1 / (x * x));
    default:
      return false;
  }
#undef VRAMSTOW_FUNCTION
}

// Slopes of activations: a is the gradient from above. False: not one of them.
template <typename T>
bool ApplySlope(Op op, const T* a, const T* b, T* out, size_t count) {
  switch (op) {
    case Op::kSigmoidBackward:
      Each(a, b, out, count, [](T g, T y) { return g * (1 - y) * y; });
      return true;
    case Op::kTanhBackward:
      Each(a, b, out, count, [](T g, T y) { return g * (1 - y * y); });
      return true;
    case Op::kSiluBackward:
      Each(a, b, out, count, [](T g, T x) {
        const T s = Logistic(x);
        return g * s * (1 + x * (1 - s));
      });
      return true;
    case Op::kGeluTanhBackward:
      Each(a, b, out, count, [](T g, T x) { return g * GeluTanhSlope(x); });
      return true;
    case Op::kGeluErfBackward:
      Each(a, b, out, count, [](T g, T x) { return g * GeluErfSlope(x); });
      return true;
    default:
      return false;
  }
}

// Operations on bits, and comparisons that are 0 or 1. False: not one of them.
template <typename T>
bool ApplyLogic(Op op, const FunctorValues<T>& values, const T* const in[], T* out, size_t count) {
  const int32_t mode = values.mode;
  const auto whole = [](T x) { return static_cast<int64_t>(x); };
  switch (op) {
    case Op::kEqual:
      Each(in[0], in[1], out, count,
           [=](T a, T b) { return static_cast<T>((a == b) != (mode != 0)); });
      return true;
    case Op::kCompare:
      Each(in[0], in[1], out, count,
           [=](T a, T b) { return static_cast<T>(Compared(mode, a, b)); });
      return true;
    case Op::kBitAnd:
      Each(in[0], in[1], out, count, [=](T a, T b) { return static_cast<T>(whole(a) & whole(b)); });
      return true;
    case Op::kBitOr:
      Each(in[0], in[1], out, count, [=](T a, T b) { return static_cast<T>(whole(a) | whole(b)); });
      return true;
    case Op::kBitXor:
      Each(in[0], in[1], out, count, [=](T a, T b) { return static_cast<T>(whole(a) ^ whole(b)); });
      return true;
    case Op::kLogicalAnd:
      Each(in[0], in[1], out, count, [](T a, T b) { return static_cast<T>(a != 0 && b != 0); });
      return true;
    case Op::kLogicalOr:
      Each(in[0], in[1], out, count, [](T a, T b) { return static_cast<T>(a != 0 || b != 0); });
      return true;
    case Op::kLogicalXor:
      Each(in[0], in[1], out, count, [](T a, T b) { return static_cast<T>((a != 0) != (b != 0)); });
      return true;
    case Op::kIsPositiveInfinity:
      Each(in[0], out, count, [](T a) { return static_cast<T>(IsInfinite(a) && a > 0); });
      return true;
    case Op::kIsNegativeInfinity:
      Each(in[0], out, count, [](T a) { return static_cast<T>(IsInfinite(a) && a < 0); });
      return true;
    case Op::kLogicalNot:
      Each(in[0], out, count, [](T a) { return static_cast<T>(a == 0); });
      return true;
    case Op::kBitNot:
      Each(in[0], out, count, [=](T a) { return static_cast<T>(~whole(a)); });
      return true;
    default:
      return false;
  }
}

// Two operands and none of the above. False: not one of them.
template <typename T>
bool ApplyBinary(Op op, const FunctorValues<T>& values, const T* a, const T* b, T* out,
                 size_t count) {
  const T s = values.scalars[0];
  const T t = values.scalars[1];
  switch (op) {
    case Op::kAdd:
      Each(a, b, out, count, [=](T x, T y) { return Sum(x, Product(s, y)); });
      return true;
    case Op::kMultiply:
      Each(a, b, out, count, [](T x, T y) { return Product(x, y); });
      return true;
    case Op::kDivide:
      if constexpr (std::is_floating_point_v<T>) {
        Each(a, b, out, count, [](T x, T y) { return x / y; });
      } else {
        Each(a, b, out, count, Truncated<T>);
      }
      return true;
    case Op::kDivideFloor:
      Each(a, b, out, count, Floored<T>);
      return true;
    case Op::kDivideTruncate:
      Each(a, b, out, count, Truncated<T>);
      return true;
    case Op::kRemainder:
      Each(a, b, out, count, Remainder<T>);
      return true;
    case Op::kFmod:
      Each(a, b, out, count, Fmod<T>);
      return true;
    case Op::kMaximum:
      Each(a, b, out, count, Maximum<T>);
      return true;
    case Op::kMinimum:
      Each(a, b, out, count, Minimum<T>);
      return true;
    case Op::kMaskedFill:
      Each(a, b, out, count, [=](T x, T mask) { return mask != 0 ? s : x; });
      return true;
    case Op::kMaskedScale:
      Each(a, b, out, count, [=](T x, T mask) { return Product(Product(x, mask), s); });
      return true;
    case Op::kThreshold:
      Each(a, b, out, count, [=](T x, T other) { return x <= s ? t : other; });
      return true;
    case Op::kSquaredDifference:
      Each(a, b, out, count, [](T x, T y) { return Product(Difference(x, y), Difference(x, y)); });
      return true;
    case Op::kLerp:
      Each(a, b, out, count, [=](T x, T y) { return Sum(x, Product(s, Difference(y, x))); });
      return true;
    default:
      return false;
  }
}

template <typename T>
void ApplyRest(Op op, const FunctorValues<T>& values, const T* const in[], T* out, size_t count) {
  const T s = values.scalars[0];
  const T t = values.scalars[1];
  switch (op) {
    case Op::kFill:
      std::fill_n(out, count, s);
      return;
    case Op::kCopy:
      if (out != in[0]) std::copy_n(in[0], count, out);
      return;
    case Op::kAddToSelf:
      Each(in[0], out, count, [=](T x) { return Sum(x, Product(s, t)); });
      return;
    case Op::kAddToOther:
      Each(in[0], out, count, [=](T x) { return Sum(s, Product(t, x)); });
      return;
    case Op::kNegate:
      if constexpr (std::is_floating_point_v<T>) {
        Each(in[0], out, count, [](T x) { return -x; });
      } else {
        Each(in[0], out, count, [](T x) { return Difference<T>(0, x); });
      }
      return;
    case Op::kAbsolute:
      Each(in[0], out, count, [](T x) { return x < 0 ? Difference<T>(0, x) : x + 0; });
      return;
    case Op::kSign:
      Each(in[0], out, count, [](T x) { return static_cast<T>((x > 0) - (x < 0)); });
      return;
    case Op::kSquare:
      Each(in[0], out, count, [](T x) { return Product(x, x); });
      return;
    case Op::kCube:
      Each(in[0], out, count, [](T x) { return Product(Product(x, x), x); });
      return;
    case Op::kPower:
      Each(in[0], out, count, [=](T x) { return Raised(x, s); });
      return;
    case Op::kClamp:
      Each(in[0], out, count, [=, mode = values.mode](T x) { return Clamped(mode, x, s, t); });
      return;
    case Op::kWhere:
      Each(in[0], in[1], in[2], out, count, [](T c, T x, T y) { return c != 0 ? x : y; });
      return;
    case Op::kMseBackward:
      Each(in[0], in[1], in[2], out, count,
           [=](T x, T y, T g) { return Product(Product(s, Difference(x, y)), g); });
      return;
    case Op::kAddProduct:
      Each(in[0], in[1], in[2], out, count,
           [=](T x, T y, T z) { return Sum(x, Product(s, Product(y, z))); });
      return;
    case Op::kAddQuotient:
      if constexpr (std::is_floating_point_v<T>) {
        Each(in[0], in[1], in[2], out, count, [=](T x, T y, T z) { return x + s * (y / z); });
      }
      return;
    default:
      return;
  }
}

}  // namespace

template <typename T>
void Apply(Op op, const FunctorValues<T>& values, const T* const in[], T* out, size_t count) {
  if constexpr (std::is_floating_point_v<T>) {
    if (ApplyFunction(op, in[0], out, count) || ApplySlope(op, in[0], in[1], out, count)) return;
  }
  if (ApplyLogic(op, values, in, out, count) || ApplyBinary(op, values, in[0], in[1], out, count)) {
    return;
  }
  ApplyRest(op, values, in, out, count);
}

template void Apply(Op, const FunctorValues<float>&, const float* const[], float*, size_t);
template void Apply(Op, const FunctorValues<double>&, const double* const[], double*, size_t);
template void Apply(Op, const FunctorValues<int64_t>&, const int64_t* const[], int64_t*, size_t);

}  // namespace vramstow::simulator
