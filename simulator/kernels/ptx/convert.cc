// Implements cvt, which converts between any two types of numbers with the rounding that it names.
#include <algorithm>
#include <cmath>
#include <limits>

#include "simulator/kernels/ptx/floating_operations.h"
#include "simulator/kernels/ptx/halves.h"
#include "simulator/kernels/ptx/handlers.h"
#include "simulator/kernels/ptx/select.h"

namespace vramstow::simulator::ptx {
namespace {

enum class Rounding : uint8_t { kNone, kNearest, kZero, kDown, kUp };

// In these instructions `target` is the rounding to integers, `flag` means saturate, and `offset`
// means flush subnormal numbers to zero.
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

// The result for NaN: 0, or only the highest bit if one of the two types has 64 bits.
template <typename To, typename From>
constexpr To NanAsWhole() {
  if (sizeof(From) < sizeof(uint64_t) && sizeof(To) < sizeof(uint64_t)) return 0;
  return static_cast<To>(uint64_t{1} << (8 * sizeof(To) - 1));
}

// Clamps a value out of range to the nearest integer of the type.
template <typename To, typename From>
To Clamp(From value) {
  if (std::isnan(value)) return NanAsWhole<To, From>();
  // The limit is a power of two, which From represents exactly.
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
  if (i.offset != 0) value = Flush(value);
  thread.Set<To>(i.out, Clamp<To>(ToWhole(value, i.target)));
  return true;
}

template <typename To, typename From>
bool FloatingToFloating(const Instruction& i, Thread& thread) {
  From from = thread.Get<From>(i.in[0]);
  if (i.offset != 0) from = Flush(from);
  To value = static_cast<To>(ToWhole(from, i.target));
  if (i.offset != 0) value = Flush(value);
  if (i.flag) value = Saturate(value);
  thread.Set<To>(i.out, value);
  return true;
}

template <typename From>
bool ToHalf(const Instruction& i, Thread& thread) {
  thread.Set<uint16_t>(i.out, HalfOf(thread.Get<From>(i.in[0])));
  return true;
}

template <typename To>
bool FromHalf(const Instruction& i, Thread& thread) {
  thread.Set<To>(i.out, static_cast<To>(ValueOfHalf(thread.Get<uint16_t>(i.in[0]))));
  return true;
}

bool ToBrain(const Instruction& i, Thread& thread) {
  thread.Set<uint16_t>(i.out, BrainOf(thread.Get<float>(i.in[0])));
  return true;
}

bool FromBrain(const Instruction& i, Thread& thread) {
  thread.Set<float>(i.out, ValueOfBrain(thread.Get<uint16_t>(i.in[0])));
  return true;
}

// Converts two numbers into one register; the first source becomes the upper half.
template <uint16_t (*kNarrow)(double)>
bool ToPair(const Instruction& i, Thread& thread) {
  const uint32_t upper = kNarrow(thread.Get<float>(i.in[0]));
  const uint32_t lower = kNarrow(thread.Get<float>(i.in[1]));
  thread.Set<uint32_t>(i.out, upper << 16 | lower);
  return true;
}

template <const Float8Format& kFormat>
bool ToEighths(const Instruction& i, Thread& thread) {
  const uint16_t upper = EighthOf(kFormat, thread.Get<float>(i.in[0]));
  const uint16_t lower = EighthOf(kFormat, thread.Get<float>(i.in[1]));
  thread.Set<uint16_t>(i.out, static_cast<uint16_t>(upper << 8 | lower));
  return true;
}

template <const Float8Format& kFormat>
bool FromEighths(const Instruction& i, Thread& thread) {
  const auto both = thread.Get<uint16_t>(i.in[0]);
  const uint32_t upper = HalfOf(ValueOfEighth(kFormat, static_cast<uint8_t>(both >> 8)));
  const uint32_t lower = HalfOf(ValueOfEighth(kFormat, static_cast<uint8_t>(both)));
  thread.Set<uint32_t>(i.out, upper << 16 | lower);
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

Rounding ParseIntegerRounding(Selection* s) {
  if (s->Take("rni")) return Rounding::kNearest;
  if (s->Take("rzi")) return Rounding::kZero;
  if (s->Take("rmi")) return Rounding::kDown;
  if (s->Take("rpi")) return Rounding::kUp;
  return Rounding::kNone;
}

// Selects conversions of pairs of 8-bit floats, from f32 and to pairs of f16.
template <const Float8Format& kFormat>
bool SelectEighths(Selection* s, Handler* handler) {
  if (s->Take("f16x2")) {
    *handler = FromEighths<kFormat>;
    return s->Plain(1, {'b', 16});
  }
  *handler = ToEighths<kFormat>;
  return s->Take("satfinite") && s->ParseTypeModifier() == Type{'f', 32} && s->Plain(2, {'f', 32});
}

// Selects conversions of 16-bit and 8-bit floats.
bool SelectNarrow(Selection* s, Handler* handler) {
  constexpr Type kSingle = {'f', 32};
  if (s->Take("e4m3x2")) return SelectEighths<kE4M3>(s, handler);
  if (s->Take("e5m2x2")) return SelectEighths<kE5M2>(s, handler);
  if (s->Take("f16x2")) *handler = ToPair<HalfOf>;
  if (s->Take("bf16x2")) *handler = ToPair<BrainOf>;
  if (*handler != nullptr) return s->ParseTypeModifier() == kSingle && s->Plain(2, kSingle);
  if (!s->Take("bf16")) return false;
  // The other type of both conversions is f32. The opcode names the type of the result first.
  const bool widens = s->name() == "cvt" && s->IsLast("bf16");
  *handler = widens ? FromBrain : ToBrain;
  return s->ParseTypeModifier() == kSingle && s->Plain(1, widens ? Type{'b', 16} : kSingle);
}

bool SelectConvert(Selection* s) {
  const Rounding whole = ParseIntegerRounding(s);
  s->Take("rn");  // the only supported rounding
  Handler narrow = nullptr;
  if (SelectNarrow(s, &narrow)) return s->Use(narrow);
  if (narrow != nullptr) return false;
  const bool flush = s->Take("ftz");
  s->instruction.flag = s->Take("sat");
  const Type to = s->ParseTypeModifier();
  const Type from = s->ParseTypeModifier();
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
