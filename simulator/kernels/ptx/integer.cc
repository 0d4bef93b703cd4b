// Implements instructions on integers: add, sub, mul, mad, div, rem, min, max, abs, neg, sad, the
// forms with carry, and dot products.
#include <algorithm>
#include <limits>

#include "simulator/kernels/ptx/handlers.h"
#include "simulator/kernels/ptx/operations.h"
#include "simulator/kernels/ptx/select.h"

namespace vramstow::simulator::ptx {
namespace {

template <typename T>
struct Twice;
template <>
struct Twice<int16_t> {
  using Type = int32_t;
};
template <>
struct Twice<uint16_t> {
  using Type = uint32_t;
};
template <>
struct Twice<int32_t> {
  using Type = int64_t;
};
template <>
struct Twice<uint32_t> {
  using Type = uint64_t;
};
template <>
struct Twice<int64_t> {
  using Type = __int128;
};
template <>
struct Twice<uint64_t> {
  using Type = unsigned __int128;
};

template <typename T>
typename Twice<T>::Type Product(T a, T b) {
  using Result = typename Twice<T>::Type;
  return static_cast<Result>(a) * static_cast<Result>(b);
}

template <typename T>
struct Subtract {
  static T Of(T a, T b) { return static_cast<T>(W(a) - W(b)); }
};
// Adds, and clamps the sum to the range of the type. PTX has this form (.sat) only for signed
// 32-bit integers.
template <typename T>
struct AddSaturated {
  static T Of(T a, T b) {
    const int64_t sum = static_cast<int64_t>(a) + b;
    return static_cast<T>(std::clamp<int64_t>(sum, INT32_MIN, INT32_MAX));
  }
};
template <typename T>
struct SubtractSaturated {
  static T Of(T a, T b) {
    const int64_t difference = static_cast<int64_t>(a) - b;
    return static_cast<T>(std::clamp<int64_t>(difference, INT32_MIN, INT32_MAX));
  }
};
template <typename T>
struct MultiplyLow {
  static T Of(T a, T b) { return static_cast<T>(W(a) * W(b)); }
};
template <typename T>
struct MultiplyHigh {
  static T Of(T a, T b) { return static_cast<T>(Product(a, b) >> (sizeof(T) * 8)); }
};
template <typename T>
struct MultiplyAddLow {
  static T Of(T a, T b, T c) { return static_cast<T>(W(a) * W(b) + W(c)); }
};
template <typename T>
struct MultiplyAddHigh {
  static T Of(T a, T b, T c) { return WrappingAdd<T>::Of(MultiplyHigh<T>::Of(a, b), c); }
};
// A division by zero gives all ones, as on GPUs.
template <typename T>
struct Divide {
  static T Of(T a, T b) {
    if (b == 0) return static_cast<T>(~T{0});
    if (std::is_signed_v<T> && b == static_cast<T>(-1)) return Subtract<T>::Of(0, a);
    return static_cast<T>(a / b);
  }
};
template <typename T>
struct Remainder {
  static T Of(T a, T b) {
    if (b == 0) return a;
    if (std::is_signed_v<T> && b == static_cast<T>(-1)) return 0;
    return static_cast<T>(a % b);
  }
};
template <typename T>
struct Negate {
  static T Of(T a) { return Subtract<T>::Of(0, a); }
};
template <typename T>
struct Absolute {
  static T Of(T a) { return a < 0 ? Negate<T>::Of(a) : a; }
};
template <typename T>
struct SumOfDifferences {
  static T Of(T a, T b, T c) {
    return WrappingAdd<T>::Of(c, a < b ? Subtract<T>::Of(b, a) : Subtract<T>::Of(a, b));
  }
};
// Multiplies the low 24 bits of the operands.
template <typename T>
struct Multiply24 {
  static T Of(T a, T b) { return MultiplyLow<T>::Of(Low(a), Low(b)); }
  static T Low(T value) {
    if (std::is_signed_v<T>) return static_cast<T>(static_cast<T>(W(value) << 8) >> 8);
    return static_cast<T>(W(value) & 0xffffff);
  }
};
template <typename T>
struct MultiplyAdd24 {
  static T Of(T a, T b, T c) { return WrappingAdd<T>::Of(Multiply24<T>::Of(a, b), c); }
};

// The result and the addend are twice as wide as the factors.
template <typename T, bool kAdd>
bool MultiplyWide(const Instruction& i, Thread& thread) {
  using Result = typename Twice<T>::Type;
  const Result product = Product(thread.Get<T>(i.in[0]), thread.Get<T>(i.in[1]));
  thread.Set<Result>(
      i.out, kAdd ? WrappingAdd<Result>::Of(product, thread.Get<Result>(i.in[2])) : product);
  return true;
}

template <bool kAdd>
Handler PickWide(Type type) {
  if (type == Type{'s', 16}) return MultiplyWide<int16_t, kAdd>;
  if (type == Type{'u', 16}) return MultiplyWide<uint16_t, kAdd>;
  if (type == Type{'s', 32}) return MultiplyWide<int32_t, kAdd>;
  if (type == Type{'u', 32}) return MultiplyWide<uint32_t, kAdd>;
  return nullptr;
}

// Adds or subtracts with the carry; with `flag` the carry is written, too.
template <typename T, bool kSubtract, bool kReads>
bool WithCarry(const Instruction& i, Thread& thread) {
  const T a = thread.Get<T>(i.in[0]);
  const T b = kSubtract ? static_cast<T>(~thread.Get<T>(i.in[1])) : thread.Get<T>(i.in[1]);
  // a - b is computed as a + ~b + 1. So there is a borrow exactly if there is no carry.
  const bool first = kReads ? thread.carry() != kSubtract : kSubtract;
  const auto sum = static_cast<unsigned __int128>(a) + b + (first ? 1 : 0);
  thread.Set<T>(i.out, static_cast<T>(sum));
  const bool carry = (sum >> (sizeof(T) * 8)) != 0;
  if (i.flag) thread.set_carry(carry != kSubtract);
  return true;
}

template <bool kSubtract, bool kReads>
bool SelectCarry(Selection* s) {
  s->instruction.flag |= s->Take("cc");
  const Type type = s->ParseTypeModifier();
  if (!type.IsInteger() || !s->Plain(2, type)) return false;
  if (type.bits == 32) return s->Use(WithCarry<uint32_t, kSubtract, kReads>);
  return type.bits == 64 && s->Use(WithCarry<uint64_t, kSubtract, kReads>);
}

// Implements mad.lo.cc, madc.hi.cc and similar forms, which add one half of a product with the
// carry.
template <typename T, bool kHigh, bool kReads>
bool MultiplyAddCarry(const Instruction& i, Thread& thread) {
  const T a = thread.Get<T>(i.in[0]);
  const T b = thread.Get<T>(i.in[1]);
  using Unsigned = std::make_unsigned_t<T>;
  const T half = kHigh ? MultiplyHigh<T>::Of(a, b) : MultiplyLow<T>::Of(a, b);
  const auto sum = static_cast<unsigned __int128>(static_cast<Unsigned>(half)) +
                   static_cast<Unsigned>(thread.Get<T>(i.in[2])) +
                   (kReads && thread.carry() ? 1 : 0);
  thread.Set<T>(i.out, static_cast<T>(static_cast<Unsigned>(sum)));
  if (i.flag) thread.set_carry((sum >> (sizeof(T) * 8)) != 0);
  return true;
}

template <bool kReads>
bool SelectMultiplyAddCarry(Selection* s, bool high) {
  const Type type = s->ParseTypeModifier();
  if (!type.IsInteger() || !s->Plain(3, type)) return false;
  if (type == Type{'u', 32}) {
    return s->Use(high ? MultiplyAddCarry<uint32_t, true, kReads>
                       : MultiplyAddCarry<uint32_t, false, kReads>);
  }
  if (type == Type{'s', 32}) {
    return s->Use(high ? MultiplyAddCarry<int32_t, true, kReads>
                       : MultiplyAddCarry<int32_t, false, kReads>);
  }
  if (type == Type{'u', 64}) {
    return s->Use(high ? MultiplyAddCarry<uint64_t, true, kReads>
                       : MultiplyAddCarry<uint64_t, false, kReads>);
  }
  return type == Type{'s', 64} && s->Use(high ? MultiplyAddCarry<int64_t, true, kReads>
                                              : MultiplyAddCarry<int64_t, false, kReads>);
}

bool SelectMultiplyAddReadingCarry(Selection* s) {
  s->instruction.flag = s->Take("cc");
  const bool high = s->Take("hi");
  return (high || s->Take("lo")) && SelectMultiplyAddCarry<true>(s, high);
}

template <template <typename> class Operation, size_t kSources>
bool SelectInteger(Selection* s) {
  const Type type = s->ParseTypeModifier();
  return s->Plain(kSources, type) && s->Use(PickInteger<Operation>(type));
}

template <template <typename> class Operation>
bool SelectSigned(Selection* s) {
  const Type type = s->ParseTypeModifier();
  return s->Plain(1, type) && s->Use(PickSigned<Operation>(type));
}

template <template <typename> class Operation, template <typename> class Saturated, bool kSubtract>
bool SelectSum(Selection* s) {
  if (s->Take("sat")) {
    const Type type = s->ParseTypeModifier();
    return type == Type{'s', 32} && s->Plain(2, type) && s->Use(Apply<int32_t, Saturated<int32_t>>);
  }
  if (s->Take("cc")) {
    s->instruction.flag = true;
    return SelectCarry<kSubtract, false>(s);
  }
  return SelectInteger<Operation, 2>(s);
}

bool SelectProduct(Selection* s) {
  if (s->Take("wide")) {
    const Type type = s->ParseTypeModifier();
    return s->Plain(2, type) && s->Use(PickWide<false>(type));
  }
  if (s->Take("hi")) return SelectInteger<MultiplyHigh, 2>(s);
  return s->Take("lo") && SelectInteger<MultiplyLow, 2>(s);
}

bool SelectMultiplyAdd(Selection* s) {
  if (s->Take("wide")) {
    const Type type = s->ParseTypeModifier();
    return s->Plain(3, type) && s->Use(PickWide<true>(type));
  }
  s->instruction.flag = s->Take("cc");
  const bool high = s->Take("hi");
  if (!high && !s->Take("lo")) return false;
  if (s->instruction.flag) return SelectMultiplyAddCarry<false>(s, high);
  return high ? SelectInteger<MultiplyAddHigh, 3>(s) : SelectInteger<MultiplyAddLow, 3>(s);
}

template <template <typename> class Operation, size_t kSources>
bool Select24(Selection* s) {
  const Type type = s->ParseTypeModifier();
  return s->Take("lo") && type.bits == 32 && s->Plain(kSources, type) &&
         s->Use(PickInteger<Operation>(type));
}

}  // namespace

Selector FindInteger(std::string_view name) {
  static constexpr SelectorRow kRows[] = {
      {"add", SelectSum<WrappingAdd, AddSaturated, false>},
      {"sub", SelectSum<Subtract, SubtractSaturated, true>},
      {"addc", SelectCarry<false, true>},
      {"subc", SelectCarry<true, true>},
      {"mul", SelectProduct},
      {"mad", SelectMultiplyAdd},
      {"madc", SelectMultiplyAddReadingCarry},
      {"mul24", Select24<Multiply24, 2>},
      {"mad24", Select24<MultiplyAdd24, 3>},
      {"div", SelectInteger<Divide, 2>},
      {"rem", SelectInteger<Remainder, 2>},
      {"min", SelectInteger<Smaller, 2>},
      {"max", SelectInteger<Larger, 2>},
      {"abs", SelectSigned<Absolute>},
      {"neg", SelectSigned<Negate>},
      {"sad", SelectInteger<SumOfDifferences, 3>},
  };
  return FindIn(kRows, name);
}

}  // namespace vramstow::simulator::ptx
