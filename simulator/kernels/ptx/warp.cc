// Implements instructions that several threads execute together: barriers, and exchanges within a
// warp.
//
// A thread that reaches such an instruction waits (Thread::Wait); grid.cc lets it continue when all
// threads that take part have arrived.
#include <algorithm>

#include "simulator/kernels/ptx/handlers.h"
#include "simulator/kernels/ptx/operations.h"
#include "simulator/kernels/ptx/select.h"

namespace vramstow::simulator::ptx {
namespace {

void ExchangeNothing(const Instruction& /*i*/, Thread* const (&/*lanes*/)[kWarpThreads]) {}

// The operands are the result, the barrier, optionally the number of threads, and the predicate.
bool SelectBarrierReduction(Selection* s) {
  BarrierResult result = BarrierResult::kNone;
  if (s->Take("popc")) result = BarrierResult::kCount;
  if (s->Take("and")) result = BarrierResult::kAll;
  if (s->Take("or")) result = BarrierResult::kAny;
  const size_t count = s->operands.size();
  const Type type = s->ParseTypeModifier();
  const bool counts = result == BarrierResult::kCount;
  if (result == BarrierResult::kNone || type != (counts ? Type{'u', 32} : Type{'p', 1}) ||
      count < 3 || count > 4 || !s->Result(0, &s->instruction.out) ||
      !s->Source(1, {'u', 32}, &s->instruction.in[0]) ||
      (count == 4 && !s->Source(2, {'u', 32}, &s->instruction.in[1])) ||
      !s->Source(count - 1, {'p', 1}, &s->instruction.in[2])) {
    return false;
  }
  s->instruction.target = static_cast<uint32_t>(result);
  s->routine->waits = true;
  return s->Use(WaitHere);
}

// in[0] is the barrier; in[1] is the number of threads, or absent for all threads.
bool SelectBarrier(Selection* s) {
  s->Take("cta");
  if (s->Take("warp")) {
    return s->Take("sync") && s->operands.size() == 1 &&
           s->Source(0, {'b', 32}, &s->instruction.in[3]) && s->UseExchange(ExchangeNothing);
  }
  s->Take("aligned");
  if (s->Take("red")) return SelectBarrierReduction(s);
  if (!s->Take("sync") || s->operands.empty() || s->operands.size() > 2) return false;
  for (size_t k = 0; k < s->operands.size(); ++k) {
    if (!s->Source(k, {'u', 32}, &s->instruction.in[k])) return false;
  }
  s->routine->waits = true;
  return s->Use(WaitHere);
}

enum class Shuffle { kUp, kDown, kButterfly, kIndex };

// Finds the lane from which `lane` receives its value. Returns false if there is none; then `lane`
// keeps its own value.
template <Shuffle kShuffle>
bool FindSource(int lane, uint32_t by, uint32_t bounds, int* source) {
  const auto segment = static_cast<int>(bounds >> 8 & 0x1f);
  const auto clamp = static_cast<int>(bounds & 0x1f);
  const int first = lane & segment;
  const int last = first | (clamp & ~segment);
  const auto distance = static_cast<int>(by & 0x1f);
  switch (kShuffle) {
    case Shuffle::kUp:
      *source = lane - distance;
      return *source >= last;
    case Shuffle::kDown:
      *source = lane + distance;
      return *source <= last;
    case Shuffle::kButterfly:
      *source = lane ^ distance;
      return *source <= last;
    case Shuffle::kIndex:
      *source = first | (distance & ~segment);
      return *source <= last;
  }
  return false;
}

template <Shuffle kShuffle>
void DoShuffle(const Instruction& i, Thread* const (&lanes)[kWarpThreads]) {
  uint32_t values[kWarpThreads] = {};
  for (unsigned lane = 0; lane < kWarpThreads; ++lane) {
    if (lanes[lane] != nullptr) values[lane] = lanes[lane]->Get<uint32_t>(i.in[0]);
  }
  for (unsigned lane = 0; lane < kWarpThreads; ++lane) {
    Thread* thread = lanes[lane];
    if (thread == nullptr) continue;
    int source = 0;
    const bool found = FindSource<kShuffle>(static_cast<int>(lane), thread->Get<uint32_t>(i.in[1]),
                                            thread->Get<uint32_t>(i.in[2]), &source);
    if (!found || lanes[source] == nullptr) source = static_cast<int>(lane);
    thread->Set<uint32_t>(i.out, values[source]);
    thread->Set<bool>(i.out2, found);
  }
}

// Parses "d|p": a result, and a second result or the unused register.
bool ParsePair(Selection* s) {
  s->instruction.out2 = {.kind = Operand::kRegister};
  if (s->operands.empty()) return false;
  Written& result = s->operands[0];
  if (!result.paired) return true;
  const Written second = result.elements[0];
  result.paired = false;
  result.elements.clear();
  s->instruction.out2 = second.operand;
  return second.operand.kind == Operand::kRegister;
}

// Parses the result, the sources and the mask.
bool ParseMasked(Selection* s, size_t sources, Type type) {
  if (!s->Take("sync") || s->operands.size() != sources + 2 || !s->Result(0, &s->instruction.out)) {
    return false;
  }
  for (size_t k = 0; k < sources; ++k) {
    if (!s->Source(k + 1, type, &s->instruction.in[k])) return false;
  }
  return s->Source(sources + 1, {'b', 32}, &s->instruction.in[3]);
}

bool SelectShuffle(Selection* s) {
  Exchange exchange = nullptr;
  if (s->Take("up")) exchange = DoShuffle<Shuffle::kUp>;
  if (s->Take("down")) exchange = DoShuffle<Shuffle::kDown>;
  if (s->Take("bfly")) exchange = DoShuffle<Shuffle::kButterfly>;
  if (s->Take("idx")) exchange = DoShuffle<Shuffle::kIndex>;
  return s->ParseTypeModifier() == Type{'b', 32} && ParsePair(s) && ParseMasked(s, 3, {'b', 32}) &&
         s->UseExchange(exchange);
}

enum class Vote { kAll, kAny, kSame, kBallot };

template <Vote kVote>
void DoVote(const Instruction& i, Thread* const (&lanes)[kWarpThreads]) {
  uint32_t here = 0;
  uint32_t yes = 0;
  for (unsigned lane = 0; lane < kWarpThreads; ++lane) {
    if (lanes[lane] == nullptr) continue;
    here |= 1u << lane;
    if (lanes[lane]->Get<bool>(i.in[0])) yes |= 1u << lane;
  }
  for (Thread* thread : lanes) {
    if (thread == nullptr) continue;
    switch (kVote) {
      case Vote::kAll:
        thread->Set<bool>(i.out, yes == here);
        break;
      case Vote::kAny:
        thread->Set<bool>(i.out, yes != 0);
        break;
      case Vote::kSame:
        thread->Set<bool>(i.out, yes == here || yes == 0);
        break;
      case Vote::kBallot:
        thread->Set<uint32_t>(i.out, yes);
        break;
    }
  }
}

bool SelectVote(Selection* s) {
  Exchange exchange = nullptr;
  if (s->Take("all")) exchange = DoVote<Vote::kAll>;
  if (s->Take("any")) exchange = DoVote<Vote::kAny>;
  if (s->Take("uni")) exchange = DoVote<Vote::kSame>;
  const bool ballot = s->Take("ballot");
  if (ballot) exchange = DoVote<Vote::kBallot>;
  const Type type = s->ParseTypeModifier();
  return type == (ballot ? Type{'b', 32} : Type{'p', 1}) && ParseMasked(s, 1, {'p', 1}) &&
         s->UseExchange(exchange);
}

template <typename T>
void DoMatch(const Instruction& i, Thread* const (&lanes)[kWarpThreads]) {
  for (Thread* thread : lanes) {
    if (thread == nullptr) continue;
    uint32_t same = 0;
    for (unsigned lane = 0; lane < kWarpThreads; ++lane) {
      if (lanes[lane] != nullptr &&
          lanes[lane]->Get<T>(i.in[0]) == thread->template Get<T>(i.in[0])) {
        same |= 1u << lane;
      }
    }
    thread->Set<uint32_t>(i.out2, same);  // written last, because `out` may be a source
  }
  for (Thread* thread : lanes) {
    if (thread != nullptr) thread->Set<uint32_t>(i.out, thread->Get<uint32_t>(i.out2));
  }
}

bool SelectMatch(Selection* s) {
  s->instruction.out2 = {.kind = Operand::kRegister};
  const Type type = s->ParseTypeModifier();
  return s->Take("any") && type.kind == 'b' && ParseMasked(s, 1, type) &&
         s->UseExchange(type.bits == 32   ? DoMatch<uint32_t>
                        : type.bits == 64 ? DoMatch<uint64_t>
                                          : nullptr);
}

template <typename T, typename Operation>
void DoReduce(const Instruction& i, Thread* const (&lanes)[kWarpThreads]) {
  bool first = true;
  T result = 0;
  for (const Thread* thread : lanes) {
    if (thread == nullptr) continue;
    const T value = thread->Get<T>(i.in[0]);
    result = first ? value : Operation::Of(result, value);
    first = false;
  }
  for (Thread* thread : lanes) {
    if (thread != nullptr) thread->Set<T>(i.out, result);
  }
}

template <template <typename> class Operation>
Exchange PickReduce(Type type) {
  if (type == Type{'s', 32}) return DoReduce<int32_t, Operation<int32_t>>;
  if (type == Type{'u', 32}) return DoReduce<uint32_t, Operation<uint32_t>>;
  return nullptr;
}

template <template <typename> class Operation>
Exchange PickReduceBits(Type type) {
  return type == Type{'b', 32} ? DoReduce<uint32_t, Operation<uint32_t>> : nullptr;
}

bool SelectReduce(Selection* s) {
  const Type type = s->ParseTypeModifier();
  Exchange exchange = nullptr;
  if (s->Take("add")) exchange = PickReduce<WrappingAdd>(type);
  if (s->Take("min")) exchange = PickReduce<Smaller>(type);
  if (s->Take("max")) exchange = PickReduce<Larger>(type);
  if (s->Take("and")) exchange = PickReduceBits<And>(type);
  if (s->Take("or")) exchange = PickReduceBits<Or>(type);
  if (s->Take("xor")) exchange = PickReduceBits<Xor>(type);
  return ParseMasked(s, 1, type) && s->UseExchange(exchange);
}

// Returns the lanes that reach this instruction together. A lane belongs to them if it arrives
// before all threads of the warp have to wait.
void DoActiveMask(const Instruction& i, Thread* const (&lanes)[kWarpThreads]) {
  uint32_t here = 0;
  for (unsigned lane = 0; lane < kWarpThreads; ++lane) {
    if (lanes[lane] != nullptr) here |= 1u << lane;
  }
  for (Thread* thread : lanes) {
    if (thread != nullptr) thread->Set<uint32_t>(i.out, here);
  }
}

bool SelectActiveMask(Selection* s) {
  s->instruction.flag = true;
  return s->ParseTypeModifier() == Type{'b', 32} && s->Plain(0, {'b', 32}) &&
         s->UseExchange(DoActiveMask);
}

}  // namespace

Selector FindWarp(std::string_view name) {
  static constexpr SelectorRow kRows[] = {
      {"bar", SelectBarrier},           {"barrier", SelectBarrier},
      {"shfl", SelectShuffle},          {"vote", SelectVote},
      {"match", SelectMatch},           {"redux", SelectReduce},
      {"activemask", SelectActiveMask},
  };
  return FindIn(kRows, name);
}

}  // namespace vramstow::simulator::ptx
