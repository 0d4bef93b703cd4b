// Implements atom and red. The threads of a launch run one at a time, so a plain read and write is
// atomic.
#include <cstring>

#include "simulator/kernels/ptx/halves.h"
#include "simulator/kernels/ptx/handlers.h"
#include "simulator/kernels/ptx/operations.h"
#include "simulator/kernels/ptx/select.h"

namespace vramstow::simulator::ptx {
namespace {

template <typename T>
struct Sum {
  static T Of(T old, T b) { return old + b; }
};
// The sum of 16-bit floats. T is uint16_t for one number, or uint32_t for two.
template <typename Format, typename T>
struct ShortSum {
  static T Of(T old, T b) {
    T sums = 0;
    for (size_t shift = 0; shift < 8 * sizeof(T); shift += 16) {
      const double sum = Format::Value(static_cast<uint16_t>(old >> shift)) +
                         Format::Value(static_cast<uint16_t>(b >> shift));
      sums = static_cast<T>(sums | T{Format::Bits(sum)} << shift);
    }
    return sums;
  }
};
template <typename T>
struct Exchange {
  static T Of(T /*old*/, T b) { return b; }
};
// PTX's inc and dec: Increment counts up to b and then restarts from 0; Decrement counts down to 0
// and then restarts from b.
template <typename T>
struct Increment {
  static T Of(T old, T b) { return old >= b ? 0 : old + 1; }
};
template <typename T>
struct Decrement {
  static T Of(T old, T b) { return old == 0 || old > b ? b : old - 1; }
};

constexpr size_t kVectorMax = 8;

template <typename T, typename Operation>
bool Update(const Instruction& i, Thread& thread) {
  char* at = thread.At(i.space, thread.AddressOf(i), sizeof(T), true);
  if (at == nullptr) return false;
  T old;
  memcpy(&old, at, sizeof(T));
  const T value = Operation::Of(old, thread.Get<T>(i.in[1]));
  memcpy(at, &value, sizeof(T));
  thread.Set<T>(i.out, old);
  return true;
}

// Updates each element of a vector. If `flag` is set, the old values are stored in as many operands
// of Routine::vectors, which lie before those of the sources.
template <typename T, typename Operation>
bool UpdateVector(const Instruction& i, Thread& thread) {
  char* at = thread.At(i.space, thread.AddressOf(i), sizeof(T) * i.count, true);
  if (at == nullptr) return false;
  T old[kVectorMax];
  memcpy(old, at, sizeof(T) * i.count);
  const Operand* sources = &thread.routine().vectors[i.vector];
  for (unsigned k = 0; k < i.count; ++k) {
    const T value = Operation::Of(old[k], thread.Get<T>(sources[k]));
    memcpy(at + k * sizeof(T), &value, sizeof(T));
  }
  for (unsigned k = 0; i.flag && k < i.count; ++k) thread.Set<T>((sources - i.count)[k], old[k]);
  return true;
}

template <typename T>
bool CompareAndSwap(const Instruction& i, Thread& thread) {
  char* at = thread.At(i.space, thread.AddressOf(i), sizeof(T), true);
  if (at == nullptr) return false;
  T old;
  memcpy(&old, at, sizeof(T));
  if (old == thread.Get<T>(i.in[1])) {
    const T value = thread.Get<T>(i.in[2]);
    memcpy(at, &value, sizeof(T));
  }
  thread.Set<T>(i.out, old);
  return true;
}

template <template <typename> class Operation>
Handler PickNumber(Type type) {
  if (type == Type{'u', 32}) return Update<uint32_t, Operation<uint32_t>>;
  if (type == Type{'s', 32}) return Update<int32_t, Operation<int32_t>>;
  if (type == Type{'u', 64}) return Update<uint64_t, Operation<uint64_t>>;
  if (type == Type{'s', 64}) return Update<int64_t, Operation<int64_t>>;
  return nullptr;
}

Handler PickSum(Type type) {
  if (type == Type{'f', 64}) return Update<double, Sum<double>>;
  return PickNumber<WrappingAdd>(type);
}

template <template <typename> class Operation>
Handler PickBits(Type type) {
  if (type == Type{'b', 32}) return Update<uint32_t, Operation<uint32_t>>;
  return type == Type{'b', 64} ? Update<uint64_t, Operation<uint64_t>> : nullptr;
}

template <template <typename> class Operation>
Handler PickCount(Type type) {
  return type == Type{'u', 32} ? Update<uint32_t, Operation<uint32_t>> : nullptr;
}

Handler PickSwap(Type type) {
  if (type == Type{'b', 16}) return CompareAndSwap<uint16_t>;
  if (type == Type{'b', 32}) return CompareAndSwap<uint32_t>;
  return type == Type{'b', 64} ? CompareAndSwap<uint64_t> : nullptr;
}

// Sets *sources to the number of operands after the address.
Handler PickUpdate(Selection* s, Type* type, size_t* sources) {
  using Pick = Handler (*)(Type);
  struct Row {
    const char* name;
    Pick pick;
    size_t sources = 1;
  };
  static constexpr Row kRows[] = {
      {"add", PickSum},
      {"min", PickNumber<Smaller>},
      {"max", PickNumber<Larger>},
      {"and", PickBits<And>},
      {"or", PickBits<Or>},
      {"xor", PickBits<Xor>},
      {"exch", PickBits<Exchange>},
      {"inc", PickCount<Increment>},
      {"dec", PickCount<Decrement>},
      {"cas", PickSwap, 2},
  };
  *type = s->ParseTypeModifier();
  for (const Row& row : kRows) {
    if (!s->Take(row.name)) continue;
    *sources = row.sources;
    return row.pick(*type);
  }
  return nullptr;
}

// A sum of floats that may be a vector. `type` has the bits of one element.
struct FloatingSum {
  Handler one = nullptr;
  Handler vector = nullptr;
  Type type;
};

template <typename T, typename Operation>
FloatingSum SumOf(Type type) {
  return {Update<T, Operation>, UpdateVector<T, Operation>, type};
}

// Parses the type of a sum. Returns no handlers if it is not one of floats, or of f64.
FloatingSum ParseFloatingSum(Selection* s) {
  if (s->Take("f32")) return SumOf<float, Sum<float>>({'f', 32});
  // PTX has no literals of 16-bit floats, so immediate values are used as bits.
  if (s->Take("f16")) return SumOf<uint16_t, ShortSum<HalfFormat, uint16_t>>({'b', 16});
  if (s->Take("bf16")) return SumOf<uint16_t, ShortSum<BrainFormat, uint16_t>>({'b', 16});
  if (s->Take("f16x2")) return SumOf<uint32_t, ShortSum<HalfFormat, uint32_t>>({'b', 32});
  if (s->Take("bf16x2")) return SumOf<uint32_t, ShortSum<BrainFormat, uint32_t>>({'b', 32});
  return {};
}

// `first` is the index of the address, which is the first operand after the result.
bool SelectFloatingSum(Selection* s, size_t first, const FloatingSum& sum) {
  const size_t count = s->ParseVectorCount();
  if (!s->Take("add") || s->operands.size() != first + 2 || !s->Address(first)) return false;
  if (count == 1) {
    return (first == 0 || s->Result(0, &s->instruction.out)) &&
           s->Source(first + 1, sum.type, &s->instruction.in[1]) && s->Use(sum.one);
  }
  s->instruction.flag = first != 0;
  return (first == 0 || s->Elements(0, count, sum.type, true)) &&
         s->Elements(first + 1, count, sum.type, false) && s->Use(sum.vector);
}

// `first` is the index of the first operand after the result, if there is one.
bool SelectUpdate(Selection* s, size_t first) {
  s->ParseAny({"relaxed", "acquire", "release", "acq_rel"});
  s->ParseAny({"cta", "cluster", "gpu", "sys"});
  s->Take("noftz");
  s->instruction.space = s->ParseSpace();
  const FloatingSum sum = ParseFloatingSum(s);
  if (sum.one != nullptr) return SelectFloatingSum(s, first, sum);
  if (first != 0 && !s->Result(0, &s->instruction.out)) return false;
  Type type;
  size_t sources = 0;
  const Handler handler = PickUpdate(s, &type, &sources);
  if (handler == nullptr || s->operands.size() != first + 1 + sources || !s->Address(first)) {
    return false;
  }
  for (size_t k = 0; k < sources; ++k) {
    if (!s->Source(first + 1 + k, type, &s->instruction.in[1 + k])) return false;
  }
  return s->Use(handler);
}

bool SelectAtomic(Selection* s) { return s->operands.size() >= 2 && SelectUpdate(s, 1); }

bool SelectReduction(Selection* s) {
  s->instruction.out = {.kind = Operand::kRegister};  // register 0 receives unused results
  return !s->operands.empty() && SelectUpdate(s, 0);
}

}  // namespace

Selector FindAtomic(std::string_view name) {
  static constexpr SelectorRow kRows[] = {{"atom", SelectAtomic}, {"red", SelectReduction}};
  return FindIn(kRows, name);
}

}  // namespace vramstow::simulator::ptx
