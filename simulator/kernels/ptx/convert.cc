// cvt: from any number to any other, with the rounding that it names.
#include <algorithm>
#include <cmath>
#include <limits>

#include "simulator/kernels/ptx/handlers.h"
#include "simulator/kernels/ptx/select.h"

namespace vramstow::simulator::ptx {
namespace {

enum class Rounding : uint8_t { kNone, kNearest, kZero, kDown, kUp };

// `target` of the instruction: the rounding to whole numbers; `flag`: saturate; `offset`: flush.
template <typename T>
T ToWhole(T value, uint32_t rounding) {
  switch (static_cast<Rounding>(rounding)) {
    case Rounding::kNearest:
      return std::nearbyint(value);
    case Rounding::kZero:
      return std::trunc(value);
    case Rounding::kDown:
      return std::floor(value);
    case Rounding::kUp:
      return std::ceil(value);
    case Rounding::kNone:
      break;
  }
  return value;
}

// What does not fit is the nearest that does; what is no number is 0.
template <typename To, typename From>
To Clamp(From value) {
  if (std::isnan(value)) return 0;
  // Both ends of From, as the next power of two, are exact.
  const From end = std::ldexp(From{1}, std::numeric_limits<To>::digits);
  if (value >= end) return std::numeric_limits<To>::max();
  if (value < (std::is_signed_v<To> ? -end : From{0})) return std::numeric_limits<To>::min();
  return static_cast<To>(value);
}

template <typename To, typename From>
bool WholeToWhole(const Instruction& i, Thread& thread) {
  const From value = thread.Get<From>(i.in[0]);
  if (!i.flag) {
    thread.Set<To>(i.out, static_cast<To>(value));
    return true;
  }
  using Wide = __int128;
  thread.Set<To>(i.out, static_cast<To>(std::clamp<Wide>(value, std::numeric_limits<To>::min(),
                                                         std::numeric_limits<To>::max())));
  return true;
}

template <typename To, typename From>
bool WholeToFloating(const Instruction& i, Thread& thread) {
  const To value = static_cast<To>(thread.Get<From>(i.in[0]));
  thread.Set<To>(i.out, i.flag ? std::clamp(value, To{0}, To{1}) : value);
  return true;
}

template <typename To, typename From>
bool FloatingToWhole(const Instruction& i, Thread& thread) {
  From value = thread.Get<From>(i.in[0]);
  if (i.offset != 0 && std::fpclassify(value) == FP_SUBNORMAL) value = 0;
  thread.Set<To>(i.out, Clamp<To>(ToWhole(value, i.target)));
  return true;
}

template <typename T>
T Flush(T value) {
  return std::fpclassify(value) == FP_SUBNORMAL ? std::copysign(T{0}, value) : value;
}

template <typename To, typename From>
bool FloatingToFloating(const Instruction& i, Thread& thread) {
  From from = thread.Get<From>(i.in[0]);
  if (i.offset != 0) from = Flush(from);
  To value = static_cast<To>(ToWhole(from, i.target));
  if (i.offset != 0) value = Flush(value);
  if (i.flag) value = value > 0 ? std::fmin(value, To{1}) : To{0};
  thread.Set<To>(i.out, value);
  return true;
}

// f16 travels as its bits: a sign, five bits of exponent, ten of fraction.
uint16_t HalfOf(double value) {
  const uint16_t sign = std::signbit(value) ? 0x8000 : 0;
  const double size = std::fabs(value);
  if (std::isnan(value)) return 0x7fff;
  if (size >= 65520) return sign | 0x7c00;  // half a step above the largest
  int exponent = 0;
  const double fraction = std::frexp(size, &exponent);  // of [0.5, 1)
  if (size == 0 || exponent < -13) {
    return sign | static_cast<uint16_t>(std::nearbyint(std::ldexp(size, 24)));
  }
  // Rounding up to the next power of two carries into the exponent.
  const auto digits = static_cast<int>(std::nearbyint(std::ldexp(fraction, 11)));
  return sign | static_cast<uint16_t>(((exponent + 14) << 10) + digits - 1024);
}

double ValueOf(uint16_t half) {
  const int exponent = half >> 10 & 0x1f;
  const int fraction = half & 0x3ff;
  double size = std::ldexp(1024 + fraction, exponent - 25);
  if (exponent == 0) size = std::ldexp(fraction, -24);
  if (exponent == 31) {
    size = fraction == 0 ? std::numeric_limits<double>::infinity()
                         : std::numeric_limits<double>::quiet_NaN();
  }
  return (half & 0x8000) != 0 ? -size : size;
}

template <typename From>
bool ToHalf(const Instruction& i, Thread& thread) {
  thread.Set<uint16_t>(i.out, HalfOf(thread.Get<From>(i.in[0])));
  return true;
}

template <typename To>
bool FromHalf(const Instruction& i, Thread& thread) {
  thread.Set<To>(i.out, static_cast<To>(ValueOf(thread.Get<uint16_t>(i.in[0]))));
  return true;
}

template <typename To, typename From>
constexpr Handler FromWhole() {
  if constexpr (std::is_integral_v<To>) {
    return WholeToWhole<To, From>;
  } else {
    return WholeToFloating<To, From>;
  }
}

template <typename To>
Handler PickWholeFrom(Type from) {
  switch (from.bits) {
    case 8:
      return from.kind == 's' ? FromWhole<To, int8_t>() : FromWhole<To, uint8_t>();
    case 16:
      return from.kind == 's' ? FromWhole<To, int16_t>() : FromWhole<To, uint16_t>();
    case 32:
      return from.kind == 's' ? FromWhole<To, int32_t>() : FromWhole<To, uint32_t>();
    case 64:
      return from.kind == 's' ? FromWhole<To, int64_t>() : FromWhole<To, uint64_t>();
    default:
      return nullptr;
  }
}

template <typename To>
Handler PickFloatingFrom(Type from) {
  if constexpr (std::is_integral_v<To>) {
    if (from.bits == 32) return FloatingToWhole<To, float>;
    return from.bits == 64 ? FloatingToWhole<To, double> : nullptr;
  } else {
    if (from.bits == 16) return FromHalf<To>;
    return from.bits == 32 ? FloatingToFloating<To, float> : FloatingToFloating<To, double>;
  }
}

template <typename To>
Handler Pick(Type from) {
  if (from.kind == 'f') return PickFloatingFrom<To>(from);
  return from.IsInteger() ? PickWholeFrom<To>(from) : nullptr;
}

Handler PickConversion(Type to, Type from) {
  if (to == Type{'f', 16} && from.kind == 'f') {
    if (from.bits == 32) return ToHalf<float>;
    return from.bits == 64 ? ToHalf<double> : nullptr;
  }
  if (to == Type{'f', 32}) return Pick<float>(from);
  if (to == Type{'f', 64}) return Pick<double>(from);
  if (to == Type{'u', 8}) return Pick<uint8_t>(from);
  if (to == Type{'u', 16}) return Pick<uint16_t>(from);
  if (to == Type{'u', 32}) return Pick<uint32_t>(from);
  if (to == Type{'u', 64}) return Pick<uint64_t>(from);
  if (to == Type{'s', 8}) return Pick<int8_t>(from);
  if (to == Type{'s', 16}) return Pick<int16_t>(from);
  if (to == Type{'s', 32}) return Pick<int32_t>(from);
  if (to == Type{'s', 64}) return Pick<int64_t>(from);
  return nullptr;
}

Rounding TakeWhole(Selection* s) {
  if (s->Take("rni")) return Rounding::kNearest;
  if (s->Take("rzi")) return Rounding::kZero;
  if (s->Take("rmi")) return Rounding::kDown;
  if (s->Take("rpi")) return Rounding::kUp;
  return Rounding::kNone;
}

bool SelectConvert(Selection* s) {
  const Rounding whole = TakeWhole(s);
  s->Take("rn");  // to nearest, as everywhere here; others are not known
  const bool flush = s->Take("ftz");
  s->instruction.flag = s->Take("sat");
  const Type to = s->TakeType();
  const Type from = s->TakeType();
  if (!to || !from || !s->Plain(1, from)) return false;
  const bool half = to == Type{'f', 16} || from == Type{'f', 16};
  if (half && (flush || s->instruction.flag || whole != Rounding::kNone)) return false;
  if (to.kind != 'f' && from.kind == 'f' && whole == Rounding::kNone) return false;
  s->instruction.target = static_cast<uint32_t>(whole);
  s->instruction.offset = flush ? 1 : 0;
  return s->Use(PickConversion(to, from));
}

}  // namespace

Selector FindConvert(std::string_view name) {
  static constexpr SelectorRow kRows[] = {{"cvt", SelectConvert}};
  return FindIn(kRows, name);
}

}  // namespace vramstow::simulator::ptx
