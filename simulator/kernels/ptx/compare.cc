// Implements comparisons and selections: setp, set, selp, slct.
#include <cmath>

#include "simulator/kernels/ptx/halves.h"
#include "simulator/kernels/ptx/handlers.h"
#include "simulator/kernels/ptx/select.h"

namespace vramstow::simulator::ptx {
namespace {

enum class Relation : uint8_t { kEqual, kNotEqual, kLess, kLessEqual, kGreater, kGreaterEqual };

// How the result of a comparison is combined with the third predicate.
enum class Join : uint8_t { kNone, kAnd, kOr, kXor };

// A comparison, which Encode packs into `target` of the instruction.
struct Comparison {
  Relation relation = Relation::kEqual;
  bool unordered = false;  // true if an operand is NaN
  Join join = Join::kNone;
  bool about_numbers = false;  // tests whether both are numbers (or, if unordered, one is NaN)
  bool flush = false;

  uint32_t Encode() const {
    return static_cast<uint32_t>(relation) | (unordered ? 8u : 0) |
           static_cast<uint32_t>(join) << 4 | (about_numbers ? 64u : 0) | (flush ? 128u : 0);
  }
};

template <typename T>
bool Holds(uint32_t code, T a, T b) {
  if constexpr (std::is_floating_point_v<T>) {
    const bool unordered = std::isnan(a) || std::isnan(b);
    if ((code & 64) != 0) return unordered == ((code & 8) != 0);
    if (unordered) return (code & 8) != 0;
    if ((code & 128) != 0) {
      if (std::fpclassify(a) == FP_SUBNORMAL) a = 0;
      if (std::fpclassify(b) == FP_SUBNORMAL) b = 0;
    }
  }
  switch (static_cast<Relation>(code & 7)) {
    case Relation::kEqual:
      return a == b;
    case Relation::kNotEqual:
      return a != b;
    case Relation::kLess:
      return a < b;
    case Relation::kLessEqual:
      return a <= b;
    case Relation::kGreater:
      return a > b;
    case Relation::kGreaterEqual:
      return a >= b;
  }
  return false;
}

bool Joined(uint32_t code, bool holds, bool with) {
  switch (static_cast<Join>(code >> 4 & 3)) {
    case Join::kNone:
      return holds;
    case Join::kAnd:
      return holds && with;
    case Join::kOr:
      return holds || with;
    case Join::kXor:
      return holds != with;
  }
  return holds;
}

// 16-bit floats are compared as f32, which represents them exactly.
struct ShortHalf {};
struct ShortBrain {};

template <typename T>
auto NumberOf(const Thread& thread, const Operand& operand) {
  if constexpr (std::is_same_v<T, ShortHalf>) {
    return static_cast<float>(ValueOfHalf(thread.Get<uint16_t>(operand)));
  } else if constexpr (std::is_same_v<T, ShortBrain>) {
    return ValueOfBrain(thread.Get<uint16_t>(operand));
  } else {
    return thread.Get<T>(operand);
  }
}

template <typename T>
bool HoldsHere(const Instruction& i, const Thread& thread) {
  return Holds(i.target, NumberOf<T>(thread, i.in[0]), NumberOf<T>(thread, i.in[1]));
}

template <typename T>
bool SetPredicate(const Instruction& i, Thread& thread) {
  const bool holds = HoldsHere<T>(i, thread);
  const bool with = thread.Get<bool>(i.in[2]);
  thread.Set<bool>(i.out, Joined(i.target, holds, with));
  thread.Set<bool>(i.out2, Joined(i.target, !holds, with));
  return true;
}

// Writes the result of a comparison: all bits set for true, or 1.0 with `flag`, and 0 for false.
template <typename T>
bool SetValue(const Instruction& i, Thread& thread) {
  const bool holds = Joined(i.target, HoldsHere<T>(i, thread), thread.Get<bool>(i.in[2]));
  const auto yes = static_cast<uint32_t>(i.flag ? Thread::Bits(1.0F) : UINT32_MAX);
  thread.Set<uint32_t>(i.out, holds ? yes : 0u);
  return true;
}

// The type bf16, which ParseType does not know.
constexpr Type kBrainType = {'h', 16};

Type ParseCompareType(Selection* s) {
  return s->Take("bf16") ? kBrainType : s->ParseTypeModifier();
}

// The types b*, u* and s* are compared as integers, b* only for equality.
template <template <typename> class Family>
Handler PickCompared(Type type) {
  const char kind = type.kind == 'b' ? 'u' : type.kind;
  if (kind == 'u' && type.bits == 16) return Family<uint16_t>::kHandler;
  if (kind == 'u' && type.bits == 32) return Family<uint32_t>::kHandler;
  if (kind == 'u' && type.bits == 64) return Family<uint64_t>::kHandler;
  if (kind == 's' && type.bits == 16) return Family<int16_t>::kHandler;
  if (kind == 's' && type.bits == 32) return Family<int32_t>::kHandler;
  if (kind == 's' && type.bits == 64) return Family<int64_t>::kHandler;
  if (type == kBrainType) return Family<ShortBrain>::kHandler;
  if (type == Type{'f', 16}) return Family<ShortHalf>::kHandler;
  if (type == Type{'f', 32}) return Family<float>::kHandler;
  if (type == Type{'f', 64}) return Family<double>::kHandler;
  return nullptr;
}

template <typename T>
struct PredicateFamily {
  static constexpr Handler kHandler = SetPredicate<T>;
};
template <typename T>
struct ValueFamily {
  static constexpr Handler kHandler = SetValue<T>;
};

bool ParseComparison(Selection* s, Comparison* comparison) {
  struct Row {
    const char* name;
    Relation relation;
    bool unordered;
  };
  static constexpr Row kRows[] = {
      {"eq", Relation::kEqual, false},   {"ne", Relation::kNotEqual, false},
      {"lt", Relation::kLess, false},    {"le", Relation::kLessEqual, false},
      {"gt", Relation::kGreater, false}, {"ge", Relation::kGreaterEqual, false},
      {"lo", Relation::kLess, false},    {"ls", Relation::kLessEqual, false},
      {"hi", Relation::kGreater, false}, {"hs", Relation::kGreaterEqual, false},
      {"equ", Relation::kEqual, true},   {"neu", Relation::kNotEqual, true},
      {"ltu", Relation::kLess, true},    {"leu", Relation::kLessEqual, true},
      {"gtu", Relation::kGreater, true}, {"geu", Relation::kGreaterEqual, true},
  };
  comparison->flush = s->Take("ftz");
  if (s->Take("and")) comparison->join = Join::kAnd;
  if (s->Take("or")) comparison->join = Join::kOr;
  if (s->Take("xor")) comparison->join = Join::kXor;
  for (const Row& row : kRows) {
    if (!s->Take(row.name)) continue;
    comparison->relation = row.relation;
    comparison->unordered = row.unordered;
    return true;
  }
  comparison->about_numbers = true;
  comparison->unordered = s->Take("nan");
  return comparison->unordered || s->Take("num");
}

// Parses the operands after the result: the two compared values, and an optional predicate.
bool ParseComparedTypes(Selection* s, Type type, const Comparison& comparison) {
  s->instruction.target = comparison.Encode();
  const size_t count = comparison.join == Join::kNone ? 3 : 4;
  if (s->operands.size() != count || !s->Source(1, type, &s->instruction.in[0]) ||
      !s->Source(2, type, &s->instruction.in[1])) {
    return false;
  }
  return count == 3 || s->Source(3, {'p', 1}, &s->instruction.in[2]);
}

bool SelectSetPredicate(Selection* s) {
  Comparison comparison;
  if (!ParseComparison(s, &comparison) || s->operands.empty()) return false;
  Written& result = s->operands[0];
  s->instruction.out2 = {.kind = Operand::kRegister};  // register 0 receives unused results
  if (result.paired) {
    const Written second = result.elements[0];
    result.paired = false;
    result.elements.clear();
    if (second.operand.kind != Operand::kRegister) return false;
    s->instruction.out2 = second.operand;
  }
  const Type type = ParseCompareType(s);
  return s->Result(0, &s->instruction.out) && ParseComparedTypes(s, type, comparison) &&
         s->Use(PickCompared<PredicateFamily>(type));
}

bool SelectSetValue(Selection* s) {
  Comparison comparison;
  if (!ParseComparison(s, &comparison)) return false;
  const Type result = s->ParseTypeModifier();
  const Type type = s->ParseTypeModifier();
  s->instruction.flag = result.kind == 'f';
  return result.bits == 32 && s->Result(0, &s->instruction.out) &&
         ParseComparedTypes(s, type, comparison) && s->Use(PickCompared<ValueFamily>(type));
}

// Selects one of two operands and copies its bits, whatever its type.
bool Choose(const Instruction& i, Thread& thread) {
  thread.Set<uint64_t>(i.out, thread.Get<uint64_t>(i.in[thread.Get<bool>(i.in[2]) ? 0 : 1]));
  return true;
}

template <typename T>
bool ChooseBySign(const Instruction& i, Thread& thread) {
  thread.Set<uint64_t>(i.out, thread.Get<uint64_t>(i.in[thread.Get<T>(i.in[2]) >= 0 ? 0 : 1]));
  return true;
}

bool SelectChoice(Selection* s) {
  const Type type = s->ParseTypeModifier();
  return type && type.bits >= 16 && s->operands.size() == 4 && s->Result(0, &s->instruction.out) &&
         s->Source(1, type, &s->instruction.in[0]) && s->Source(2, type, &s->instruction.in[1]) &&
         s->Source(3, {'p', 1}, &s->instruction.in[2]) && s->Use(Choose);
}

bool SelectChoiceBySign(Selection* s) {
  s->Take("ftz");
  const Type type = s->ParseTypeModifier();
  const Type by = s->ParseTypeModifier();
  if (!type || s->operands.size() != 4 || !s->Result(0, &s->instruction.out) ||
      !s->Source(1, type, &s->instruction.in[0]) || !s->Source(2, type, &s->instruction.in[1]) ||
      !s->Source(3, by, &s->instruction.in[2])) {
    return false;
  }
  if (by == Type{'s', 32}) return s->Use(ChooseBySign<int32_t>);
  return by == Type{'f', 32} && s->Use(ChooseBySign<float>);
}

}  // namespace

Selector FindCompare(std::string_view name) {
  static constexpr SelectorRow kRows[] = {
      {"setp", SelectSetPredicate},
      {"set", SelectSetValue},
      {"selp", SelectChoice},
      {"slct", SelectChoiceBySign},
  };
  return FindIn(kRows, name);
}

}  // namespace vramstow::simulator::ptx
