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

// True if T is HalfFormat or BrainFormat, a 16-bit float that registers have as its bits.
template <typename T>
constexpr bool kIsShort = std::is_class_v<T>;

// Returns the source as a number that C++ computes with; f32 represents all 16-bit floats.
template <typename From>
auto SourceOf(const Instruction& i, Thread& thread) {
  if constexpr (kIsShort<From>) {
    return static_cast<float>(From::Value(thread.Get<uint16_t>(i.in[0])));
  } else if constexpr (std::is_same_v<From, float>) {
    const auto value = thread.Get<float>(i.in[0]);
    return i.offset != 0 ? Flush(value) : value;
  } else {
    return thread.Get<From>(i.in[0]);
  }
}

// Stores a number as a floating-point number of type To.
template <typename To, typename Number>
void SetFloating(const Instruction& i, Thread& thread, Number number) {
  if constexpr (kIsShort<To>) {
    thread.Set<uint16_t>(i.out, To::Bits(i.flag ? Saturate(number) : number));
  } else {
    To value = static_cast<To>(number);
    if (std::is_same_v<To, float> && i.offset != 0) value = Flush(value);
    thread.Set<To>(i.out, i.flag ? Saturate(value) : value);
  }
}

// Returns an integer as a double that is rounded to the same f16 or bf16 as the integer itself. If
// the integer has more digits than a double, the bits that do not fit are combined into one.
template <typename From>
double ForShort(From value) {
  if constexpr (sizeof(From) < sizeof(uint64_t)) return static_cast<double>(value);
  constexpr uint64_t kBelow = (1ull << 11) - 1;
  const bool negative = value < 0;
  uint64_t size = negative ? -static_cast<uint64_t>(value) : static_cast<uint64_t>(value);
  if (size >> std::numeric_limits<double>::digits != 0) {
    size = (size & ~kBelow) | ((size & kBelow) != 0 ? kBelow + 1 : 0);
  }
  return negative ? -static_cast<double>(size) : static_cast<double>(size);
}

template <typename To, typename From>
bool WholeToFloating(const Instruction& i, Thread& thread) {
  const From value = thread.Get<From>(i.in[0]);
  if constexpr (kIsShort<To>) {
    SetFloating<To>(i, thread, ForShort(value));
  } else {
    SetFloating<To>(i, thread, static_cast<To>(value));
  }
  return true;
}

template <typename To, typename From>
bool FloatingToWhole(const Instruction& i, Thread& thread) {
  thread.Set<To>(i.out, Clamp<To>(ToWhole(SourceOf<From>(i, thread), i.target)));
  return true;
}

template <typename To, typename From>
bool FloatingToFloating(const Instruction& i, Thread& thread) {
  SetFloating<To>(i, thread, ToWhole(SourceOf<From>(i, thread), i.target));
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
bool HalvesToEighths(const Instruction& i, Thread& thread) {
  const auto both = thread.Get<uint32_t>(i.in[0]);
  const auto narrow = [](uint32_t half) {
    return EighthOf(kFormat, static_cast<float>(ValueOfHalf(static_cast<uint16_t>(half))));
  };
  thread.Set<uint16_t>(i.out, static_cast<uint16_t>(narrow(both >> 16) << 8 | narrow(both)));
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

// bf16 as a type of this file; f16 is Type{'f', 16}.
constexpr Type kBrain = {'n', 16};

template <typename To, typename From>
constexpr Handler Conversion() {
  if constexpr (std::is_integral_v<To> && std::is_integral_v<From>) {
    return WholeToWhole<To, From>;
  } else if constexpr (std::is_integral_v<To>) {
    return FloatingToWhole<To, From>;
  } else if constexpr (std::is_integral_v<From>) {
    return WholeToFloating<To, From>;
  } else {
    return FloatingToFloating<To, From>;
  }
}

template <typename To>
Handler PickFrom(Type from) {
  if (from == kBrain) return Conversion<To, BrainFormat>();
  if (from == Type{'f', 16}) return Conversion<To, HalfFormat>();
  if (from == Type{'f', 32}) return Conversion<To, float>();
  if (from == Type{'f', 64}) return Conversion<To, double>();
  if (from == Type{'u', 8}) return Conversion<To, uint8_t>();
  if (from == Type{'u', 16}) return Conversion<To, uint16_t>();
  if (from == Type{'u', 32}) return Conversion<To, uint32_t>();
  if (from == Type{'u', 64}) return Conversion<To, uint64_t>();
  if (from == Type{'s', 8}) return Conversion<To, int8_t>();
  if (from == Type{'s', 16}) return Conversion<To, int16_t>();
  if (from == Type{'s', 32}) return Conversion<To, int32_t>();
  if (from == Type{'s', 64}) return Conversion<To, int64_t>();
  return nullptr;
}

Handler PickConversion(Type to, Type from) {
  if (to == kBrain) return PickFrom<BrainFormat>(from);
  if (to == Type{'f', 16}) return PickFrom<HalfFormat>(from);
  if (to == Type{'f', 32}) return PickFrom<float>(from);
  if (to == Type{'f', 64}) return PickFrom<double>(from);
  if (to == Type{'u', 8}) return PickFrom<uint8_t>(from);
  if (to == Type{'u', 16}) return PickFrom<uint16_t>(from);
  if (to == Type{'u', 32}) return PickFrom<uint32_t>(from);
  if (to == Type{'u', 64}) return PickFrom<uint64_t>(from);
  if (to == Type{'s', 8}) return PickFrom<int8_t>(from);
  if (to == Type{'s', 16}) return PickFrom<int16_t>(from);
  if (to == Type{'s', 32}) return PickFrom<int32_t>(from);
  if (to == Type{'s', 64}) return PickFrom<int64_t>(from);
  return nullptr;
}

Rounding ParseIntegerRounding(Selection* s) {
  if (s->Take("rni")) return Rounding::kNearest;
  if (s->Take("rzi")) return Rounding::kZero;
  if (s->Take("rmi")) return Rounding::kDown;
  if (s->Take("rpi")) return Rounding::kUp;
  return Rounding::kNone;
}

// Selects conversions of pairs of 8-bit floats, from f32 and f16 and to pairs of f16.
template <const Float8Format& kFormat>
bool SelectEighths(Selection* s, Handler* handler) {
  const bool of_halves = s->IsLast("f16x2");
  if (s->Take("f16x2") && !of_halves) {
    *handler = FromEighths<kFormat>;
    return s->Plain(1, {'b', 16});
  }
  *handler = of_halves ? HalvesToEighths<kFormat> : ToEighths<kFormat>;
  if (!s->Take("satfinite")) return false;
  if (of_halves) return s->Plain(1, {'b', 32});
  return s->ParseTypeModifier() == Type{'f', 32} && s->Plain(2, {'f', 32});
}

// Selects conversions whose result, or source, is a pair of numbers.
bool SelectPair(Selection* s, Handler* handler) {
  constexpr Type kSingle = {'f', 32};
  if (s->Take("e4m3x2")) return SelectEighths<kE4M3>(s, handler);
  if (s->Take("e5m2x2")) return SelectEighths<kE5M2>(s, handler);
  if (s->Take("f16x2")) *handler = ToPair<HalfOf>;
  if (s->Take("bf16x2")) *handler = ToPair<BrainOf>;
  return *handler != nullptr && s->ParseTypeModifier() == kSingle && s->Plain(2, kSingle);
}

// Parses the types of the result and of the source. ParseTypeModifier does not know bf16.
void ParseTypes(Selection* s, Type* to, Type* from) {
  const bool from_brain = s->IsLast("bf16");
  const bool takes_one = s->Take("bf16");
  const bool takes_two = s->Take("bf16");
  const bool to_brain = takes_two || (takes_one && !from_brain);
  *to = to_brain ? kBrain : s->ParseTypeModifier();
  *from = from_brain ? kBrain : s->ParseTypeModifier();
}

bool SelectConvert(Selection* s) {
  const Rounding whole = ParseIntegerRounding(s);
  s->Take("rn");  // the only supported rounding
  Handler pair = nullptr;
  if (SelectPair(s, &pair)) return s->Use(pair);
  if (pair != nullptr) return false;
  s->instruction.offset = s->Take("ftz") ? 1 : 0;
  s->instruction.flag = s->Take("sat");
  Type to;
  Type from;
  ParseTypes(s, &to, &from);
  // PTX has no literals of 16-bit floats, so immediate values are used as bits.
  const bool is_short = from == kBrain || from == Type{'f', 16};
  if (!to || !from || !s->Plain(1, is_short ? Type{'b', 16} : from)) return false;
  const bool from_floating = from.kind == 'f' || from == kBrain;
  if (to.IsInteger() && from_floating && whole == Rounding::kNone) return false;
  s->instruction.target = static_cast<uint32_t>(whole);
  return s->Use(PickConversion(to, from));
}

}  // namespace

Selector FindConvert(std::string_view name) {
  static constexpr SelectorRow kRows[] = {{"cvt", SelectConvert}};
  return FindIn(kRows, name);
}

}  // namespace vramstow::simulator::ptx
