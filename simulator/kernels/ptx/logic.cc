// Implements instructions on bits: and, or, xor, not, shifts, bit fields, counts, permutations.
#include <bit>

#include "simulator/kernels/ptx/handlers.h"
#include "simulator/kernels/ptx/operations.h"
#include "simulator/kernels/ptx/select.h"

namespace vramstow::simulator::ptx {
namespace {

template <typename T>
constexpr unsigned kBits = sizeof(T) * 8;

template <typename T>
struct Not {
  static T Of(T a) { return static_cast<T>(~a); }
};
template <>
struct Not<bool> {
  static bool Of(bool a) { return !a; }
};
template <typename T>
struct LogicalNot {
  static T Of(T a) { return a == 0 ? 1 : 0; }
};
template <typename T>
struct Reverse {
  static T Of(T a) {
    T result = 0;
    for (unsigned i = 0; i < kBits<T>; ++i) {
      result = static_cast<T>(result << 1 | (a >> i & 1));
    }
    return result;
  }
};

// A shift by the width or more gives zero, or the sign for signed right shifts.
template <typename T>
bool ShiftLeft(const Instruction& i, Thread& thread) {
  const auto by = thread.Get<uint32_t>(i.in[1]);
  const T value = thread.Get<T>(i.in[0]);
  thread.Set<T>(i.out, by < kBits<T> ? static_cast<T>(value << by) : T{0});
  return true;
}

template <typename T>
bool ShiftRight(const Instruction& i, Thread& thread) {
  const auto by = std::min<uint32_t>(thread.Get<uint32_t>(i.in[1]), kBits<T>);
  const T value = thread.Get<T>(i.in[0]);
  if (by < kBits<T>) {
    thread.Set<T>(i.out, static_cast<T>(value >> by));
  } else {
    thread.Set<T>(i.out, std::is_signed_v<T> && value < 0 ? static_cast<T>(-1) : T{0});
  }
  return true;
}

// Implements shf, which shifts 64 bits and returns 32 of them. If `flag` is set, the shift is to
// the left.
template <bool kClamp>
bool FunnelShift(const Instruction& i, Thread& thread) {
  const uint64_t both = thread.Get<uint32_t>(i.in[0]) | uint64_t{thread.Get<uint32_t>(i.in[1])}
                                                            << 32;
  const auto asked = thread.Get<uint32_t>(i.in[2]);
  const uint32_t by = kClamp ? std::min(asked, 32u) : asked % 32;
  thread.Set<uint32_t>(i.out, static_cast<uint32_t>(i.flag ? both << by >> 32 : both >> by));
  return true;
}

template <typename T>
bool CountOnes(const Instruction& i, Thread& thread) {
  thread.Set<uint32_t>(i.out, static_cast<uint32_t>(std::popcount(thread.Get<T>(i.in[0]))));
  return true;
}

template <typename T>
bool CountLeadingZeros(const Instruction& i, Thread& thread) {
  thread.Set<uint32_t>(i.out, static_cast<uint32_t>(std::countl_zero(thread.Get<T>(i.in[0]))));
  return true;
}

// Finds the highest bit that differs from the sign; with `flag` returns its distance from the top.
template <typename T>
bool FindHighest(const Instruction& i, Thread& thread) {
  using Unsigned = std::make_unsigned_t<T>;
  const T value = thread.Get<T>(i.in[0]);
  const auto bits = static_cast<Unsigned>(std::is_signed_v<T> && value < 0 ? ~value : value);
  uint32_t result = UINT32_MAX;
  if (bits != 0) {
    const auto zeros = static_cast<uint32_t>(std::countl_zero(bits));
    result = i.flag ? zeros : kBits<T> - 1 - zeros;
  }
  thread.Set<uint32_t>(i.out, result);
  return true;
}

template <typename T>
bool ExtractField(const Instruction& i, Thread& thread) {
  using Unsigned = std::make_unsigned_t<T>;
  const T value = thread.Get<T>(i.in[0]);
  const unsigned start = thread.Get<uint32_t>(i.in[1]) & 0xff;
  const unsigned length = thread.Get<uint32_t>(i.in[2]) & 0xff;
  const bool negative = std::is_signed_v<T> && length > 0 &&
                        (value >> std::min(start + length - 1, kBits<T> - 1) & 1) != 0;
  constexpr auto kOnes = static_cast<Unsigned>(-1);
  Unsigned result = start < kBits<T> ? static_cast<Unsigned>(value) >> start : 0;
  if (negative) result |= start < kBits<T> ? ~(kOnes >> start) : kOnes;
  if (length < kBits<T>) {
    const Unsigned mask = (Unsigned{1} << length) - 1;
    result = negative ? result | ~mask : result & mask;
  }
  thread.Set<T>(i.out, static_cast<T>(result));
  return true;
}

template <typename T>
bool InsertField(const Instruction& i, Thread& thread) {
  const unsigned start = thread.Get<uint32_t>(i.in[2]) & 0xff;
  const unsigned length = thread.Get<uint32_t>(i.in[3]) & 0xff;
  T mask = length < kBits<T> ? static_cast<T>((T{1} << length) - 1) : static_cast<T>(~T{0});
  mask = start < kBits<T> ? static_cast<T>(mask << start) : T{0};
  const T field = start < kBits<T> ? static_cast<T>(thread.Get<T>(i.in[0]) << start) : T{0};
  thread.Set<T>(i.out, static_cast<T>((thread.Get<T>(i.in[1]) & ~mask) | (field & mask)));
  return true;
}

// Selects four of eight bytes, each by a number of four bits. If the highest of these bits is set,
// the result has eight copies of the byte's sign bit instead of the byte.
bool Permute(const Instruction& i, Thread& thread) {
  const uint64_t both = thread.Get<uint32_t>(i.in[0]) | uint64_t{thread.Get<uint32_t>(i.in[1])}
                                                            << 32;
  const auto selector = thread.Get<uint32_t>(i.in[2]);
  uint32_t result = 0;
  for (unsigned byte = 0; byte < 4; ++byte) {
    const uint32_t choice = selector >> (byte * 4) & 0xf;
    auto value = static_cast<uint32_t>(both >> ((choice & 7) * 8) & 0xff);
    if ((choice & 8) != 0) value = (value & 0x80) != 0 ? 0xff : 0;
    result |= value << (byte * 8);
  }
  thread.Set<uint32_t>(i.out, result);
  return true;
}

// Computes any function of three bits from its truth table.
bool LookUp(const Instruction& i, Thread& thread) {
  const auto a = thread.Get<uint32_t>(i.in[0]);
  const auto b = thread.Get<uint32_t>(i.in[1]);
  const auto c = thread.Get<uint32_t>(i.in[2]);
  const auto table = thread.Get<uint32_t>(i.in[3]);
  uint32_t result = 0;
  for (unsigned row = 0; row < 8; ++row) {
    if ((table >> row & 1) == 0) continue;
    result |= ((row & 4) != 0 ? a : ~a) & ((row & 2) != 0 ? b : ~b) & ((row & 1) != 0 ? c : ~c);
  }
  thread.Set<uint32_t>(i.out, result);
  return true;
}

template <template <typename> class Operation, size_t kSources>
bool SelectLogic(Selection* s) {
  const Type type = s->ParseTypeModifier();
  if (!s->Plain(kSources, type)) return false;
  if (type.kind == 'p') return s->Use(Apply<bool, Operation<bool>>);
  return type.kind == 'b' && s->Use(PickBits<Operation>(type));
}

template <template <typename> class Operation>
bool SelectBits(Selection* s) {
  const Type type = s->ParseTypeModifier();
  return type.kind == 'b' && s->Plain(1, type) && s->Use(PickBits<Operation>(type));
}

bool SelectShiftLeft(Selection* s) {
  const Type type = s->ParseTypeModifier();
  if (type.kind != 'b' || !s->Plain(2, type)) return false;
  if (type.bits == 16) return s->Use(ShiftLeft<uint16_t>);
  if (type.bits == 32) return s->Use(ShiftLeft<uint32_t>);
  return type.bits == 64 && s->Use(ShiftLeft<uint64_t>);
}

bool SelectShiftRight(Selection* s) {
  const Type type = s->ParseTypeModifier();
  if (!s->Plain(2, type)) return false;
  if (type == Type{'s', 16}) return s->Use(ShiftRight<int16_t>);
  if (type == Type{'s', 32}) return s->Use(ShiftRight<int32_t>);
  if (type == Type{'s', 64}) return s->Use(ShiftRight<int64_t>);
  if (type.kind != 'u' && type.kind != 'b') return false;
  if (type.bits == 16) return s->Use(ShiftRight<uint16_t>);
  if (type.bits == 32) return s->Use(ShiftRight<uint32_t>);
  return type.bits == 64 && s->Use(ShiftRight<uint64_t>);
}

bool SelectFunnel(Selection* s) {
  s->instruction.flag = s->Take("l");
  if (!s->instruction.flag && !s->Take("r")) return false;
  const bool clamp = s->Take("clamp");
  if (!clamp && !s->Take("wrap")) return false;
  return s->ParseTypeModifier() == Type{'b', 32} && s->Plain(3, {'b', 32}) &&
         s->Use(clamp ? FunnelShift<true> : FunnelShift<false>);
}

template <bool (*k32)(const Instruction&, Thread&), bool (*k64)(const Instruction&, Thread&)>
bool SelectCount(Selection* s) {
  const Type type = s->ParseTypeModifier();
  if (type.kind != 'b' || !s->Plain(1, type)) return false;
  if (type.bits == 32) return s->Use(k32);
  return type.bits == 64 && s->Use(k64);
}

bool SelectFind(Selection* s) {
  s->instruction.flag = s->Take("shiftamt");
  const Type type = s->ParseTypeModifier();
  if (!s->Plain(1, type)) return false;
  if (type == Type{'u', 32}) return s->Use(FindHighest<uint32_t>);
  if (type == Type{'s', 32}) return s->Use(FindHighest<int32_t>);
  if (type == Type{'u', 64}) return s->Use(FindHighest<uint64_t>);
  return type == Type{'s', 64} && s->Use(FindHighest<int64_t>);
}

bool SelectExtract(Selection* s) {
  const Type type = s->ParseTypeModifier();
  if (!s->Plain(3, type)) return false;
  if (type == Type{'u', 32}) return s->Use(ExtractField<uint32_t>);
  if (type == Type{'s', 32}) return s->Use(ExtractField<int32_t>);
  if (type == Type{'u', 64}) return s->Use(ExtractField<uint64_t>);
  return type == Type{'s', 64} && s->Use(ExtractField<int64_t>);
}

bool SelectInsert(Selection* s) {
  const Type type = s->ParseTypeModifier();
  if (type.kind != 'b' || !s->Plain(4, type)) return false;
  if (type.bits == 32) return s->Use(InsertField<uint32_t>);
  return type.bits == 64 && s->Use(InsertField<uint64_t>);
}

template <Handler kHandler, size_t kSources>
bool SelectWord(Selection* s) {
  return s->ParseTypeModifier() == Type{'b', 32} && s->Plain(kSources, {'b', 32}) &&
         s->Use(kHandler);
}

}  // namespace

Selector FindLogic(std::string_view name) {
  static constexpr SelectorRow kRows[] = {
      {"and", SelectLogic<And, 2>},
      {"or", SelectLogic<Or, 2>},
      {"xor", SelectLogic<Xor, 2>},
      {"not", SelectLogic<Not, 1>},
      {"cnot", SelectBits<LogicalNot>},
      {"brev", SelectBits<Reverse>},
      {"shl", SelectShiftLeft},
      {"shr", SelectShiftRight},
      {"shf", SelectFunnel},
      {"popc", SelectCount<CountOnes<uint32_t>, CountOnes<uint64_t>>},
      {"clz", SelectCount<CountLeadingZeros<uint32_t>, CountLeadingZeros<uint64_t>>},
      {"bfind", SelectFind},
      {"bfe", SelectExtract},
      {"bfi", SelectInsert},
      {"prmt", SelectWord<Permute, 3>},
      {"lop3", SelectWord<LookUp, 4>},
  };
  return FindIn(kRows, name);
}

}  // namespace vramstow::simulator::ptx
