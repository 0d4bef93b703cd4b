// Implements wgmma, by which four warps multiply matrices in shared memory.
//
// Idea: a warp's part of the result is 16 of the 64 rows, and it needs all of B. So each warp
// computes its part when it reaches the instruction. This is allowed, because a correct program has
// filled shared memory before the instruction, and waits for the result before it reads it. Source:
// the PTX ISA.
#include <algorithm>
#include <bit>
#include <cstring>
#include <memory>
#include <string>

#include "simulator/kernels/ptx/halves.h"
#include "simulator/kernels/ptx/handlers.h"
#include "simulator/kernels/ptx/select.h"

namespace vramstow::simulator::ptx {
namespace {

constexpr unsigned kTileRows = 16;  // rows of a warp's part
constexpr unsigned kWarps = 4;
constexpr unsigned kMaxWidth = 256;
constexpr unsigned kDepthBytes = 32;  // bytes of a row of A or a column of B, for all types
constexpr unsigned kChunk = 16;       // bytes that are contiguous in every layout
constexpr unsigned kGroup = 8;        // rows of a group in the layout
constexpr unsigned kSourceRegisters = 4;
constexpr uint64_t kProductsPerStep = 64;

enum class NumberKind : uint8_t { kHalf, kBrain, kTensorFloat, kE4M3, kE5M2, kSigned, kUnsigned };
enum class SumKind : uint8_t { kSingle, kHalf, kWhole };

// The parameters that are packed into `target` of the instruction.
struct Form {
  NumberKind a = NumberKind::kHalf;
  NumberKind b = NumberKind::kHalf;
  SumKind sum = SumKind::kSingle;
  bool a_in_registers = false;
  bool transposed_a = false;
  bool transposed_b = false;
  bool negated = false;  // exactly one of A and B is negated
  bool saturated = false;

  uint32_t Pack() const {
    return static_cast<uint32_t>(a) | static_cast<uint32_t>(b) << 4 |
           static_cast<uint32_t>(sum) << 8 | uint32_t{a_in_registers} << 12 |
           uint32_t{transposed_a} << 13 | uint32_t{transposed_b} << 14 | uint32_t{negated} << 15 |
           uint32_t{saturated} << 16;
  }
  static Form Of(const Instruction& i) {
    const uint32_t bits = i.target;
    const auto is = [bits](unsigned k) { return (bits >> k & 1) != 0; };
    return {static_cast<NumberKind>(bits & 15),
            static_cast<NumberKind>(bits >> 4 & 15),
            static_cast<SumKind>(bits >> 8 & 3),
            is(12),
            is(13),
            is(14),
            is(15),
            is(16)};
  }
};

unsigned BytesOf(NumberKind number) {
  if (number == NumberKind::kTensorFloat) return 4;
  return number == NumberKind::kHalf || number == NumberKind::kBrain ? 2 : 1;
}

unsigned WidthOf(const Instruction& i) {
  return Form::Of(i).sum == SumKind::kHalf ? i.count * 4u : i.count * 2u;
}

const float* EighthValues(const Float8Format& format) {
  static const auto make = [](const Float8Format& of) {
    auto* values = new float[256];
    for (unsigned bits = 0; bits < 256; ++bits) {
      values[bits] = ValueOfEighth(of, static_cast<uint8_t>(bits));
    }
    return values;
  };
  static const float* const e4m3 = make(kE4M3);
  static const float* const e5m2 = make(kE5M2);
  return &format == &kE4M3 ? e4m3 : e5m2;
}

// Returns the number whose bytes begin at `at`. T is float, or int32_t for integers.
template <typename T>
T ValueAt(NumberKind number, const char* at) {
  uint32_t bits = 0;
  memcpy(&bits, at, BytesOf(number));
  switch (number) {
    case NumberKind::kHalf:
      return static_cast<T>(ValueOfHalf(static_cast<uint16_t>(bits)));
    case NumberKind::kBrain:
      return static_cast<T>(ValueOfBrain(static_cast<uint16_t>(bits)));
    case NumberKind::kTensorFloat:
      return static_cast<T>(std::bit_cast<float>(bits & 0xffffe000));  // ten bits of fraction
    case NumberKind::kE4M3:
      return static_cast<T>(EighthValues(kE4M3)[bits]);
    case NumberKind::kE5M2:
      return static_cast<T>(EighthValues(kE5M2)[bits]);
    case NumberKind::kSigned:
      return static_cast<T>(static_cast<int8_t>(bits));
    case NumberKind::kUnsigned:
      break;
  }
  return static_cast<T>(bits);
}

// The layout of a matrix in shared memory, decoded from a 64-bit register.
class Descriptor {
 public:
  Descriptor(uint64_t bits, bool transposed)
      : start_(Field(bits, 0)),
        leading_(Field(bits, 16)),
        stride_(Field(bits, 32)),
        base_(bits >> 49 & 7),
        transposed_(transposed) {
    constexpr unsigned kRowBytes[] = {16, 128, 64, 32};
    row_bytes_ = kRowBytes[bits >> 62];
  }

  // Returns the address of a chunk of 16 bytes. In the usual layout `line` counts rows of A
  // (columns of B), and `chunk` runs along the depth. In the transposed layout `line` counts the
  // depth, and `chunk` runs along the rows (columns).
  uint64_t AddressOf(unsigned line, unsigned chunk) const {
    const unsigned chunks = row_bytes_ / kChunk;  // chunks in one row of the pattern
    const bool plain = chunks == 1;
    uint64_t address = start_ + uint64_t{line % kGroup} * row_bytes_;
    if (!transposed_) {
      address += line / kGroup * stride_ + chunk * (plain ? leading_ : kChunk);
    } else if (plain) {
      address += line / kGroup * leading_ + chunk * stride_;
    } else {
      address += line / kGroup * stride_ + chunk / chunks * leading_ + chunk % chunks * kChunk;
    }
    // The index of the 128-byte row determines which chunks are swapped.
    const uint64_t row = (address / 128 - base_) % chunks;
    return address ^ (row * kChunk);
  }

 private:
  static uint64_t Field(uint64_t bits, unsigned shift) { return (bits >> shift & 0x3fff) << 4; }

  uint64_t start_;
  uint64_t leading_;
  uint64_t stride_;
  uint64_t base_;
  bool transposed_;
  unsigned row_bytes_ = 0;
};

// The factors of a warp, with the depth as first index of B, so that the inner loop runs along the
// columns.
template <typename T>
struct GroupSources {
  T a[kTileRows][kDepthBytes];
  T b[kDepthBytes][kMaxWidth];
};
template <typename T>
struct Sums {
  T at[kTileRows][kMaxWidth];
};

// Calls set(line, depth, value) for `lines` rows (columns) of a matrix, beginning with number
// `first`. Returns false if the thread has failed.
template <typename T, typename Set>
bool ReadMatrix(const Descriptor& from, NumberKind number, bool transposed, unsigned first,
                unsigned lines, Thread* thread, const Set& set) {
  const unsigned bytes = BytesOf(number);
  const unsigned each = kChunk / bytes;
  const unsigned depth = kDepthBytes / bytes;
  const unsigned outer = transposed ? depth : lines;
  const unsigned chunks = (transposed ? lines : depth) / each;
  for (unsigned line = 0; line < outer; ++line) {
    for (unsigned chunk = 0; chunk < chunks; ++chunk) {
      const uint64_t address = transposed ? from.AddressOf(line, first / each + chunk)
                                          : from.AddressOf(first + line, chunk);
      const char* at = thread->At(Space::kShared, address, kChunk, false);
      if (at == nullptr) return false;
      for (unsigned k = 0; k < each; ++k) {
        const T value = ValueAt<T>(number, at + k * bytes);
        const unsigned along = chunk * each + k;
        transposed ? set(along, line, value) : set(line, along, value);
      }
    }
  }
  return true;
}

// Registers are (upper, lower) × (left, right), as for mma.
template <typename T>
void CollectRows(const Instruction& i, NumberKind number, Thread* const (&lanes)[kWarpThreads],
                 T (&a)[kTileRows][kDepthBytes]) {
  const auto each = static_cast<unsigned>(sizeof(uint32_t) / BytesOf(number));
  for (const Thread* thread : lanes) {
    if (thread == nullptr) continue;
    const Operand* registers = &thread->routine().vectors[i.vector + i.count];
    for (unsigned k = 0; k < kSourceRegisters; ++k) {
      const auto bits = thread->Get<uint32_t>(registers[k]);
      const unsigned row = thread->lane() / 4 + k % 2 * kGroup;
      const unsigned column = thread->lane() % 4 * each + k / 2 * 4 * each;
      for (unsigned part = 0; part < each; ++part) {
        const uint32_t shifted = bits >> (8 * BytesOf(number) * part);
        char bytes[sizeof(shifted)];
        memcpy(bytes, &shifted, sizeof(shifted));
        a[row][column + part] = ValueAt<T>(number, bytes);
      }
    }
  }
}

template <typename T>
bool CollectOperands(const Instruction& i, Thread* const (&lanes)[kWarpThreads], Thread* first,
                     GroupSources<T>* sources) {
  const Form form = Form::Of(i);
  if (form.a_in_registers) {
    CollectRows(i, form.a, lanes, sources->a);
  } else {
    const Descriptor rows(first->Get<uint64_t>(i.in[0]), form.transposed_a);
    const unsigned above = first->number() / kWarpThreads % kWarps * kTileRows;
    if (!ReadMatrix<T>(rows, form.a, form.transposed_a, above, kTileRows, first,
                       [sources](unsigned line, unsigned depth, T value) {
                         sources->a[line][depth] = value;
                       })) {
      return false;
    }
  }
  const Descriptor columns(first->Get<uint64_t>(i.in[1]), form.transposed_b);
  return ReadMatrix<T>(
      columns, form.b, form.transposed_b, 0, WidthOf(i), first,
      [sources](unsigned line, unsigned depth, T value) { sources->b[depth][line] = value; });
}

// Adds one row of the result. Integers wrap around, or saturate.
void AddProducts(const GroupSources<float>& sources, unsigned row, unsigned depth, unsigned width,
                 const Form& form, float* sums) {
  for (unsigned d = 0; d < depth; ++d) {
    const float by = form.negated ? -sources.a[row][d] : sources.a[row][d];
    for (unsigned n = 0; n < width; ++n) sums[n] += by * sources.b[d][n];
  }
}

void AddProducts(const GroupSources<int32_t>& sources, unsigned row, unsigned depth, unsigned width,
                 const Form& form, int32_t* sums) {
  for (unsigned n = 0; n < width; ++n) {
    int64_t sum = sums[n];
    for (unsigned d = 0; d < depth; ++d) sum += int64_t{sources.a[row][d]} * sources.b[d][n];
    if (form.saturated) sum = std::clamp<int64_t>(sum, INT32_MIN, INT32_MAX);
    sums[n] = static_cast<int32_t>(sum);
  }
}

template <typename T>
T SumAt(const Thread& thread, const Operand* results, SumKind sum, unsigned k) {
  if (sum != SumKind::kHalf) return thread.Get<T>(results[k]);
  const uint32_t bits = thread.Get<uint32_t>(results[k / 2]) >> (k % 2 * 16);
  return static_cast<T>(ValueOfHalf(static_cast<uint16_t>(bits)));
}

template <typename T>
void SetSums(const Operand* results, SumKind sum, unsigned k, T low, T high, Thread* thread) {
  if (sum == SumKind::kHalf) {
    const uint32_t upper = HalfOf(static_cast<double>(high));
    thread->Set<uint32_t>(results[k / 2], upper << 16 | HalfOf(static_cast<double>(low)));
    return;
  }
  thread->Set<T>(results[k], low);
  thread->Set<T>(results[k + 1], high);
}

// Visits the results of all lanes. Each lane holds pairs of adjacent columns: four lanes share a
// row, the second pair is eight rows below, and the next pairs are eight columns to the right.
template <typename T, typename Use>
void ForEachPair(Thread* const (&lanes)[kWarpThreads], unsigned width, const Use& use) {
  for (unsigned lane = 0; lane < kWarpThreads; ++lane) {
    if (lanes[lane] == nullptr) continue;
    for (unsigned k = 0; k < width / 2; k += 2) {
      use(lanes[lane], k, lane / 4 + k / 2 % 2 * kGroup, k / 4 * kGroup + lane % 4 * 2);
    }
  }
}

template <typename T>
void DoGroupMultiply(const Instruction& i, Thread* const (&lanes)[kWarpThreads]) {
  const Form form = Form::Of(i);
  const unsigned width = WidthOf(i);
  const unsigned depth = kDepthBytes / BytesOf(form.a);
  Thread* first = *std::find_if(std::begin(lanes), std::end(lanes),
                                [](const Thread* lane) { return lane != nullptr; });
  first->Spend(uint64_t{kTileRows} * width * depth / kProductsPerStep);
  const auto sources = std::make_unique<GroupSources<T>>();  // too large for small stacks
  const auto sums = std::make_unique<Sums<T>>();
  if (!CollectOperands(i, lanes, first, sources.get())) return;
  if (first->Get<bool>(i.in[2])) {
    ForEachPair<T>(lanes, width, [&](Thread* thread, unsigned k, unsigned row, unsigned column) {
      const Operand* results = &thread->routine().vectors[i.vector];
      sums->at[row][column] = SumAt<T>(*thread, results, form.sum, k);
      sums->at[row][column + 1] = SumAt<T>(*thread, results, form.sum, k + 1);
    });
  }
  for (unsigned row = 0; row < kTileRows; ++row) {
    AddProducts(*sources, row, depth, width, form, sums->at[row]);
  }
  ForEachPair<T>(lanes, width, [&](Thread* thread, unsigned k, unsigned row, unsigned column) {
    const Operand* results = &thread->routine().vectors[i.vector];
    SetSums<T>(results, form.sum, k, sums->at[row][column], sums->at[row][column + 1], thread);
  });
}

bool ParseNumberKind(Selection* s, NumberKind* number) {
  constexpr std::string_view kNames[] = {"f16", "bf16", "tf32", "e4m3", "e5m2", "s8", "u8"};
  for (size_t k = 0; k < std::size(kNames); ++k) {
    if (!s->Take(kNames[k])) continue;
    *number = static_cast<NumberKind>(k);
    return true;
  }
  return false;
}

// Parses the types of the sum, A and B, and checks that they can be combined.
bool ParseNumberKinds(Selection* s, Form* form) {
  NumberKind a = NumberKind::kHalf;
  NumberKind b = NumberKind::kHalf;
  SumKind sum = SumKind::kSingle;
  if (s->Take("s32")) {
    sum = SumKind::kWhole;
  } else if (!s->Take("f32")) {
    if (!s->Take("f16")) return false;
    sum = SumKind::kHalf;
  }
  if (!ParseNumberKind(s, &a)) return false;
  if (!ParseNumberKind(s, &b)) return false;
  const bool eighths = (a == NumberKind::kE4M3 || a == NumberKind::kE5M2) &&
                       (b == NumberKind::kE4M3 || b == NumberKind::kE5M2);
  const bool whole = a >= NumberKind::kSigned && b >= NumberKind::kSigned;
  form->a = a;
  form->b = b;
  form->sum = sum;
  if (sum == SumKind::kWhole) return whole;
  if (sum == SumKind::kHalf) return eighths || (a == NumberKind::kHalf && b == NumberKind::kHalf);
  return !whole && (a == b || eighths);
}

// Parses m64nNkK and returns N; K must match the type. Returns 0 if it does not match.
unsigned ParseWidth(Selection* s, unsigned depth) {
  for (unsigned width = kGroup; width <= kMaxWidth; width += kGroup) {
    const std::string name = "m64n" + std::to_string(width) + "k" + std::to_string(depth);
    if (s->Take(name)) return width;
  }
  return 0;
}

// 1 or -1.
bool ParseSign(const Selection& s, size_t index, bool* negated) {
  Operand sign;
  if (!s.Source(index, {'s', 32}, &sign) || sign.kind != Operand::kImmediate) return false;
  *negated = sign.value != 1;
  return sign.value == 1 || static_cast<int64_t>(sign.value) == -1;
}

// Parses the operands after the matrices: whether to add to D, the signs, and whether 16-bit
// matrices are transposed.
bool ParseRest(Selection* s, Form* form) {
  const size_t count = s->operands.size();
  if (count < 4 || !s->Source(3, {'p', 1}, &s->instruction.in[2])) return false;
  if (form->sum == SumKind::kWhole) return count == 4;
  bool negated_a = false;
  bool negated_b = false;
  if (!ParseSign(*s, 4, &negated_a) || !ParseSign(*s, 5, &negated_b)) return false;
  form->negated = negated_a != negated_b;
  size_t next = 6;
  if (BytesOf(form->a) == 2) {
    Operand a = {.kind = Operand::kImmediate};
    Operand b;
    if (!form->a_in_registers && !s->Source(next++, {'s', 32}, &a)) return false;
    if (!s->Source(next++, {'s', 32}, &b) || a.kind != Operand::kImmediate ||
        b.kind != Operand::kImmediate || a.value > 1 || b.value > 1) {
      return false;
    }
    form->transposed_a = a.value == 1;
    form->transposed_b = b.value == 1;
  }
  return next == count;
}

bool SelectGroupMultiply(Selection* s) {
  Form form;
  form.saturated = s->Take("satfinite");
  if (!ParseNumberKinds(s, &form)) return false;
  const unsigned width = ParseWidth(s, kDepthBytes / BytesOf(form.a));
  if (width == 0 || s->operands.size() < 4) return false;
  const size_t results = form.sum == SumKind::kHalf ? width / 4 : width / 2;
  const auto first = static_cast<uint32_t>(s->routine->vectors.size());
  const Type sum = form.sum == SumKind::kSingle ? Type{'f', 32} : Type{'b', 32};
  if (!s->Elements(0, results, sum, true)) return false;
  form.a_in_registers = s->operands[1].is_vector;
  if (form.a_in_registers ? !s->Elements(1, kSourceRegisters, {'b', 32}, false)
                          : !s->Source(1, {'b', 64}, &s->instruction.in[0])) {
    return false;
  }
  if (!s->Source(2, {'b', 64}, &s->instruction.in[1]) || !ParseRest(s, &form)) return false;
  s->instruction.vector = first;
  s->instruction.count = static_cast<uint8_t>(results);
  s->instruction.target = form.Pack();
  return s->UseWholeWarp(form.sum == SumKind::kWhole ? DoGroupMultiply<int32_t>
                                                     : DoGroupMultiply<float>);
}

// Products are computed when their instruction is reached, so the instructions that wait for
// products do nothing.
bool SelectWarpgroup(Selection* s) {
  if (!s->Take("sync") || !s->Take("aligned")) return false;
  if (s->ParseAny({"fence", "commit_group"})) return s->operands.empty() && s->Use(DoNothing);
  if (s->Take("wait_group")) return s->operands.size() == 1 && s->Use(DoNothing);
  return s->Take("mma_async") && SelectGroupMultiply(s);
}

}  // namespace

Selector FindWarpgroup(std::string_view name) {
  static constexpr SelectorRow kTileRows[] = {{"wgmma", SelectWarpgroup}};
  return FindIn(kTileRows, name);
}

}  // namespace vramstow::simulator::ptx
