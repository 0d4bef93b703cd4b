// Implements atom and red. The threads of a launch run one at a time, so a plain read and write is
// atomic.
#include <cstring>

#include "simulator/kernels/ptx/handlers.h"
#include "simulator/kernels/ptx/operations.h"
#include "simulator/kernels/ptx/select.h"

namespace vramstow::simulator::ptx {
namespace {

template <typename T>
struct Sum {
  static T Of(T old, T b) { return old + b; }
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
  if (type == Type{'f', 32}) return Update<float, Sum<float>>;
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

// `first` is the index of the first operand after the result, if there is one.
bool SelectUpdate(Selection* s, size_t first) {
  s->ParseAny({"relaxed", "acquire", "release", "acq_rel"});
  s->ParseAny({"cta", "cluster", "gpu", "sys"});
  s->Take("noftz");
  s->instruction.space = s->ParseSpace();
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

bool SelectAtomic(Selection* s) {
  return s->operands.size() >= 2 && s->Result(0, &s->instruction.out) && SelectUpdate(s, 1);
}

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
