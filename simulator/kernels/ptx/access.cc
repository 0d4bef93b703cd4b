// Implements mov, ld, st, cvta, isspacep, asynchronous copies to shared memory, and instructions
// that are only hints.
#include <algorithm>
#include <cstring>

#include "simulator/kernels/ptx/handlers.h"
#include "simulator/kernels/ptx/select.h"

namespace vramstow::simulator::ptx {
namespace {

bool Move(const Instruction& i, Thread& thread) {
  thread.Set<uint64_t>(i.out, thread.Get<uint64_t>(i.in[0]));
  return true;
}

bool MovePredicate(const Instruction& i, Thread& thread) {
  thread.Set<bool>(i.out, thread.Get<bool>(i.in[0]));
  return true;
}

// Pack joins several registers into one, and Unpack splits one into several; `target` is the number
// of bits of each part.
bool Pack(const Instruction& i, Thread& thread) {
  const Operand* elements = &thread.routine().vectors[i.vector];
  const uint64_t mask = ~0ull >> (64 - i.target);
  uint64_t value = 0;
  for (unsigned k = 0; k < i.count; ++k) {
    value |= (thread.Get<uint64_t>(elements[k]) & mask) << (k * i.target);
  }
  thread.Set<uint64_t>(i.out, value);
  return true;
}

bool Unpack(const Instruction& i, Thread& thread) {
  const Operand* elements = &thread.routine().vectors[i.vector];
  const uint64_t mask = ~0ull >> (64 - i.target);
  const auto value = thread.Get<uint64_t>(i.in[0]);
  for (unsigned k = 0; k < i.count; ++k) {
    thread.Set<uint64_t>(elements[k], value >> (k * i.target) & mask);
  }
  return true;
}

bool SelectMove(Selection* s) {
  const Type type = s->ParseTypeModifier();
  if (!type || s->operands.size() != 2) return false;
  if (type.kind == 'p') return s->Plain(1, type) && s->Use(MovePredicate);
  if (type.bits < 16 || type.bits > 64) return false;
  for (size_t side = 0; side < 2; ++side) {
    const Written& written = s->operands[side];
    if (!written.is_vector) continue;
    const size_t count = written.elements.size();
    if (type.kind != 'b' || (count != 2 && count != 4)) return false;
    const auto bits = static_cast<uint8_t>(type.bits / count);
    s->instruction.target = bits;
    if (!s->Elements(side, count, {'b', bits}, side == 0)) return false;
    if (side == 0) return s->Source(1, type, &s->instruction.in[0]) && s->Use(Unpack);
    return s->Result(0, &s->instruction.out) && s->Use(Pack);
  }
  return s->Plain(1, type) && s->Use(Move);
}

template <typename T>
bool Load(const Instruction& i, Thread& thread) {
  const uint64_t address = thread.AddressOf(i);
  const char* from = thread.At(i.space, address, sizeof(T) * i.count, false);
  if (from == nullptr) return false;
  const Operand* elements = &thread.routine().vectors[i.vector];
  for (unsigned k = 0; k < i.count; ++k) {
    T value;
    memcpy(&value, from + k * sizeof(T), sizeof(T));
    thread.Set<T>(elements[k], value);
  }
  return true;
}

template <typename T>
bool Store(const Instruction& i, Thread& thread) {
  const uint64_t address = thread.AddressOf(i);
  char* to = thread.At(i.space, address, sizeof(T) * i.count, true);
  if (to == nullptr) return false;
  const Operand* elements = &thread.routine().vectors[i.vector];
  for (unsigned k = 0; k < i.count; ++k) {
    const T value = thread.Get<T>(elements[k]);
    memcpy(to + k * sizeof(T), &value, sizeof(T));
  }
  return true;
}

// Returns the load for a type; signed numbers are sign-extended.
Handler PickLoad(Type type) {
  const bool is_signed = type.kind == 's';
  switch (type.bits) {
    case 8:
      return is_signed ? Load<int8_t> : Load<uint8_t>;
    case 16:
      return is_signed ? Load<int16_t> : Load<uint16_t>;
    case 32:
      return is_signed ? Load<int32_t> : Load<uint32_t>;
    case 64:
      return Load<uint64_t>;
    default:
      return nullptr;
  }
}

Handler PickStore(Type type) {
  switch (type.bits) {
    case 8:
      return Store<uint8_t>;
    case 16:
      return Store<uint16_t>;
    case 32:
      return Store<uint32_t>;
    case 64:
      return Store<uint64_t>;
    default:
      return nullptr;
  }
}

// Consumes the modifiers for memory order, scope and caching. They have no effect here, because
// every access is visible at once.
void SkipMemoryOrder(Selection* s) {
  s->ParseAny({"weak", "relaxed", "acquire", "release", "volatile"});
  s->ParseAny({"cta", "cluster", "gpu", "sys"});
  s->ParseAny({"ca", "cg", "cs", "lu", "cv", "wb", "wt"});
  s->ParseAny({"L1::evict_normal", "L1::evict_unchanged", "L1::evict_first", "L1::evict_last",
               "L1::no_allocate"});
  s->ParseAny({"L2::64B", "L2::128B", "L2::256B"});
}

// Consumes the cache policy (made by createpolicy), an additional operand that has no effect here.
bool ParsePolicy(Selection* s) {
  if (!s->Take("L2::cache_hint")) return true;
  if (s->operands.empty() || s->operands.back().operand.kind != Operand::kRegister) return false;
  s->operands.pop_back();
  return true;
}

bool SelectLoad(Selection* s) {
  SkipMemoryOrder(s);
  s->Take("nc");
  if (!ParsePolicy(s)) return false;
  s->instruction.space = s->ParseSpace();
  const size_t count = s->ParseVectorCount();
  const Type type = s->ParseTypeModifier();
  return type && type.kind != 'p' && s->operands.size() == 2 && s->Address(1) &&
         s->Elements(0, count, type, true) && s->Use(PickLoad(type));
}

bool SelectStore(Selection* s) {
  SkipMemoryOrder(s);
  if (!ParsePolicy(s)) return false;
  s->instruction.space = s->ParseSpace();
  const size_t count = s->ParseVectorCount();
  const Type type = s->ParseTypeModifier();
  return type && type.kind != 'p' && s->operands.size() == 2 && s->Address(0) &&
         s->Elements(1, count, type, false) && s->Use(PickStore(type));
}

bool MakePolicy(const Instruction& i, Thread& thread) {
  thread.Set<uint64_t>(i.out, 0);
  return true;
}

bool SelectPolicy(Selection* s) {
  s->ParseAny({"fractional", "range", "cvt"});
  s->ParseAny({"global", "L2"});
  const auto take = [s] {
    return s->ParseAny(
        {"L2::evict_first", "L2::evict_last", "L2::evict_normal", "L2::evict_unchanged"});
  };
  while (take()) continue;
  return s->ParseTypeModifier() == Type{'b', 64} && s->Result(0, &s->instruction.out) &&
         s->Use(MakePolicy);
}

// in[1] and in[2] are the two parts of the source address. in[3] is the number of bytes to copy;
// the rest of the `target` bytes is zeroed. The copy is done at once, which is allowed: a thread
// must not read the result before it has waited for the copy.
bool CopyToShared(const Instruction& i, Thread& thread) {
  const uint64_t from = thread.Get<uint64_t>(i.in[1]) + i.in[2].value;
  uint64_t bytes = i.target;
  if (i.in[3].kind != Operand::kNone) {
    bytes = std::min<uint64_t>(bytes, thread.Get<uint32_t>(i.in[3]));
  }
  char* to = thread.At(Space::kShared, thread.AddressOf(i), i.target, true);
  if (to == nullptr) return false;
  memset(to, 0, i.target);
  if (bytes == 0) return true;
  const char* source = thread.At(Space::kGlobal, from, bytes, false);
  if (source == nullptr) return false;
  memcpy(to, source, bytes);
  return true;
}

bool SelectCopyToShared(Selection* s) {
  s->ParseAny({"ca", "cg"});
  s->ParseAny({"L2::64B", "L2::128B", "L2::256B"});
  if (!ParsePolicy(s) || !s->ParseAny({"shared", "shared::cta"}) || !s->Take("global"))
    return false;
  const size_t count = s->operands.size();
  if (count < 3 || count > 4 || !s->Address(1)) return false;
  s->instruction.in[1] = s->instruction.in[0];
  s->instruction.in[2] = {.kind = Operand::kImmediate, .value = s->instruction.offset};
  s->instruction.space = Space::kShared;
  const Operand& bytes = s->operands[2].operand;
  const bool known = bytes.kind == Operand::kImmediate &&
                     (bytes.value == 4 || bytes.value == 8 || bytes.value == 16);
  if (!known || !s->Address(0)) return false;
  s->instruction.target = static_cast<uint32_t>(bytes.value);
  if (count == 4 && !s->Source(3, {'u', 32}, &s->instruction.in[3])) return false;
  return s->Use(CopyToShared);
}

bool SelectAsyncCopy(Selection* s) {
  if (!s->Take("async")) return false;
  if (s->ParseAny({"commit_group", "wait_group", "wait_all"})) return s->Use(DoNothing);
  return SelectCopyToShared(s);
}

uint64_t WindowOf(Space space) {
  if (space == Space::kShared) return kSharedWindow;
  return space == Space::kLocal ? kLocalWindow : 0;
}

// Converts a generic address to an address of a state space if `flag` is set, and back otherwise.
// Addresses of global memory are the same in both.
bool ConvertAddress(const Instruction& i, Thread& thread) {
  const auto address = thread.Get<uint64_t>(i.in[0]);
  const uint64_t window = WindowOf(i.space);
  thread.Set<uint64_t>(i.out, i.flag ? address - window : address + window);
  return true;
}

bool SelectConvertAddress(Selection* s) {
  s->instruction.flag = s->Take("to");
  s->instruction.space = s->ParseSpace();
  const Type type = s->ParseTypeModifier();
  return s->instruction.space != Space::kGeneric && type == Type{'u', 64} && s->Plain(1, type) &&
         s->Use(ConvertAddress);
}

bool IsInSpace(const Instruction& i, Thread& thread) {
  const auto address = thread.Get<uint64_t>(i.in[0]);
  const bool shared = address - kSharedWindow < kWindowBytes;
  const bool local = address - kLocalWindow < kWindowBytes;
  thread.Set<bool>(i.out, i.space == Space::kShared  ? shared
                          : i.space == Space::kLocal ? local
                                                     : !shared && !local);
  return true;
}

bool SelectIsInSpace(Selection* s) {
  if (s->Take("const")) return false;  // constants are in global memory here
  s->instruction.space = s->ParseSpace();
  return s->instruction.space != Space::kGeneric && s->Plain(1, {'u', 64}) && s->Use(IsInSpace);
}

bool SelectHint(Selection* s) {
  s->ParseAny({"global", "local"});
  s->ParseAny({"L1", "L2", "L2::evict_last", "L2::evict_normal"});
  return s->Use(DoNothing);
}

// A fence has no effect, because threads run one at a time and their writes are visible to all
// threads immediately.
bool SelectFence(Selection* s) {
  if (s->Take("proxy")) {
    if (!s->Take("async")) return false;
    s->ParseAny({"global", "shared::cta", "shared::cluster"});
    return s->Use(DoNothing);
  }
  s->ParseAny({"gl", "sc", "acq_rel", "acquire", "release"});
  s->ParseAny({"cta", "cluster", "gpu", "sys"});
  return s->Use(DoNothing);
}

// griddepcontrol has no effect, because a grid ends here before the next one begins.
bool SelectGridOrder(Selection* s) {
  return s->ParseAny({"wait", "launch_dependents"}) && s->Use(DoNothing);
}

bool SelectSleep(Selection* s) {
  return s->ParseTypeModifier() == Type{'u', 32} && s->Use(DoNothing);
}

}  // namespace

Selector FindAccess(std::string_view name) {
  static constexpr SelectorRow kRows[] = {
      {"mov", SelectMove},
      {"ld", SelectLoad},
      {"ldu", SelectLoad},
      {"st", SelectStore},
      {"cvta", SelectConvertAddress},
      {"isspacep", SelectIsInSpace},
      {"prefetch", SelectHint},
      {"prefetchu", SelectHint},
      {"membar", SelectFence},
      {"fence", SelectFence},
      {"nanosleep", SelectSleep},
      {"createpolicy", SelectPolicy},
      {"cp", SelectAsyncCopy},
      {"griddepcontrol", SelectGridOrder},
  };
  return FindIn(kRows, name);
}

}  // namespace vramstow::simulator::ptx
