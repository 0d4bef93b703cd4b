// Implements the instructions of a warp on small matrices that its threads hold in parts: ldmatrix,
// stmatrix, mma.
//
// Idea: each lane holds the elements of each fragment that the PTX ISA assigns to it. The whole
// matrices are assembled from all lanes, the product is computed in f32, and every lane gets its
// part.
#include <algorithm>
#include <bit>
#include <cstring>

#include "simulator/kernels/ptx/halves.h"
#include "simulator/kernels/ptx/handlers.h"
#include "simulator/kernels/ptx/select.h"

namespace vramstow::simulator::ptx {
namespace {

// --- ldmatrix and stmatrix: 8 × 8 matrices of 16-bit numbers; lanes provide the addresses of their
// rows.

constexpr unsigned kRows = 8;
constexpr unsigned kRowBytes = 16;

void DoLoadMatrix(const Instruction& i, Thread* const (&lanes)[kWarpThreads]) {
  uint16_t numbers[4][kRows][kRows] = {};
  for (unsigned k = 0; k < i.count * kRows; ++k) {
    Thread* thread = lanes[k];
    if (thread == nullptr) continue;
    const char* row = thread->At(i.space, thread->AddressOf(i), kRowBytes, false);
    if (row != nullptr) memcpy(numbers[k / kRows][k % kRows], row, kRowBytes);
  }
  for (unsigned lane = 0; lane < kWarpThreads; ++lane) {
    Thread* thread = lanes[lane];
    // A lane with an invalid address has failed before, so nothing is done for it here.
    if (thread == nullptr || thread->state() == Thread::State::kFailed) continue;
    const Operand* results = &thread->routine().vectors[i.vector];
    const unsigned row = lane / 4;
    const unsigned column = lane % 4 * 2;
    for (unsigned matrix = 0; matrix < i.count; ++matrix) {
      const auto& of = numbers[matrix];
      const uint32_t low = i.flag ? of[column][row] : of[row][column];
      const uint32_t high = i.flag ? of[column + 1][row] : of[row][column + 1];
      thread->Set<uint32_t>(results[matrix], high << 16 | low);
    }
  }
}

void DoStoreMatrix(const Instruction& i, Thread* const (&lanes)[kWarpThreads]) {
  uint16_t numbers[4][kRows][kRows] = {};
  for (unsigned lane = 0; lane < kWarpThreads; ++lane) {
    if (lanes[lane] == nullptr) continue;
    const Operand* sources = &lanes[lane]->routine().vectors[i.vector];
    const unsigned row = lane / 4;
    const unsigned column = lane % 4 * 2;
    for (unsigned matrix = 0; matrix < i.count; ++matrix) {
      auto& of = numbers[matrix];
      const auto bits = lanes[lane]->Get<uint32_t>(sources[matrix]);
      (i.flag ? of[column][row] : of[row][column]) = static_cast<uint16_t>(bits);
      (i.flag ? of[column + 1][row] : of[row][column + 1]) = static_cast<uint16_t>(bits >> 16);
    }
  }
  for (unsigned k = 0; k < i.count * kRows; ++k) {
    if (lanes[k] == nullptr) continue;
    char* row = lanes[k]->At(i.space, lanes[k]->AddressOf(i), kRowBytes, true);
    if (row != nullptr) memcpy(row, numbers[k / kRows][k % kRows], kRowBytes);
  }
}

template <bool kLoads>
bool SelectMatrix(Selection* s) {
  if (!s->Take("sync") || !s->Take("aligned") || !s->Take("m8n8")) return false;
  size_t count = s->Take("x1") ? 1 : 0;
  if (s->Take("x2")) count = 2;
  if (s->Take("x4")) count = 4;
  s->instruction.flag = s->Take("trans");
  s->instruction.space = s->ParseSpace();
  const Type type = s->ParseTypeModifier();
  const size_t address = kLoads ? 1 : 0;
  return count != 0 && type == Type{'b', 16} && s->operands.size() == 2 && s->Address(address) &&
         s->instruction.space != Space::kLocal &&
         s->Elements(1 - address, count, {'b', 32}, kLoads) &&
         s->UseWholeWarp(kLoads ? DoLoadMatrix : DoStoreMatrix);
}

// --- mma: D = A × B + C, with 16 rows, 8 columns and a depth of 8 or 16.

constexpr unsigned kHeight = 16;
constexpr unsigned kWidth = 8;
constexpr unsigned kMaxDepth = 16;
constexpr unsigned kAccumulators = 4;  // accumulators of each lane

enum class Number : uint32_t { kHalf, kBrain, kTensorFloat };

// Returns the number at index `part` of a register that holds several numbers.
float PartOf(Number number, uint32_t bits, unsigned part) {
  const auto half = static_cast<uint16_t>(bits >> (16 * part));
  switch (number) {
    case Number::kHalf:
      return static_cast<float>(ValueOfHalf(half));
    case Number::kBrain:
      return ValueOfBrain(half);
    case Number::kTensorFloat:
      break;
  }
  return std::bit_cast<float>(bits & 0xffffe000);  // ten bits of fraction
}

struct Sources {
  float a[kHeight][kMaxDepth] = {};
  float b[kMaxDepth][kWidth] = {};
};

// Adds a lane's registers to the matrices. Each register of A belongs to the upper or lower rows
// and to the left or right columns, and each register of B to the upper or lower rows.
void Collect(const Thread& thread, const Operand* operands, Number number, Sources* sources) {
  const unsigned group = thread.lane() / 4;
  const unsigned place = thread.lane() % 4;
  const unsigned each = number == Number::kTensorFloat ? 1 : 2;  // numbers in a register
  const unsigned half_depth = 4 * each;
  for (unsigned k = 0; k < 4; ++k) {
    const auto bits = thread.Get<uint32_t>(operands[k]);
    for (unsigned part = 0; part < each; ++part) {
      const unsigned column = place * each + part + k / 2 * half_depth;
      sources->a[group + k % 2 * 8][column] = PartOf(number, bits, part);
    }
  }
  for (unsigned k = 0; k < 2; ++k) {
    const auto bits = thread.Get<uint32_t>(operands[4 + k]);
    for (unsigned part = 0; part < each; ++part) {
      sources->b[place * each + part + k * half_depth][group] = PartOf(number, bits, part);
    }
  }
}

// `target` is the type of the numbers. The operands are D, A, B, C.
void DoMultiply(const Instruction& i, Thread* const (&lanes)[kWarpThreads]) {
  const auto number = static_cast<Number>(i.target);
  constexpr unsigned kA = kAccumulators;
  constexpr unsigned kC = kA + 6;
  Sources sources;
  for (const Thread* thread : lanes) {
    if (thread == nullptr) continue;
    Collect(*thread, &thread->routine().vectors[i.vector + kA], number, &sources);
  }
  for (unsigned lane = 0; lane < kWarpThreads; ++lane) {
    Thread* thread = lanes[lane];
    if (thread == nullptr) continue;
    const Operand* operands = &thread->routine().vectors[i.vector];
    float sums[kAccumulators];
    for (unsigned k = 0; k < kAccumulators; ++k) {
      const unsigned row = lane / 4 + k / 2 * 8;
      const unsigned column = lane % 4 * 2 + k % 2;
      sums[k] = thread->Get<float>(operands[kC + k]);
      for (unsigned d = 0; d < kMaxDepth; ++d) sums[k] += sources.a[row][d] * sources.b[d][column];
    }
    // Results are written last, because their registers may be those of the sources.
    for (unsigned k = 0; k < kAccumulators; ++k) thread->Set<float>(operands[k], sums[k]);
  }
}

bool ParseOperandTypes(Selection* s, std::string_view name, Number number, uint32_t* found) {
  if (!s->Take(name)) return false;
  *found = static_cast<uint32_t>(number);
  return s->Take(name);
}

bool SelectMatrixMultiply(Selection* s) {
  if (!s->Take("sync") || !s->Take("aligned") || !s->Take("row") || !s->Take("col")) return false;
  uint32_t number = 0;
  const bool deep = s->Take("m16n8k16");
  const bool known =
      deep ? ParseOperandTypes(s, "f16", Number::kHalf, &number) ||
                 ParseOperandTypes(s, "bf16", Number::kBrain, &number)
           : s->Take("m16n8k8") && ParseOperandTypes(s, "tf32", Number::kTensorFloat, &number);
  if (!known || !s->Take("f32") || !s->Take("f32") || s->operands.size() != 4) return false;
  constexpr size_t kCounts[] = {kAccumulators, 4, 2, kAccumulators};
  const auto first = static_cast<uint32_t>(s->routine->vectors.size());
  for (size_t k = 0; k < 4; ++k) {
    const Type type = k % 3 == 0 ? Type{'f', 32} : Type{'b', 32};
    if (!s->Elements(k, kCounts[k], type, k == 0)) return false;
  }
  s->instruction.vector = first;
  s->instruction.target = number;
  return s->UseWholeWarp(DoMultiply);
}

}  // namespace

Selector FindMatrix(std::string_view name) {
  static constexpr SelectorRow kMatrixRows[] = {{"ldmatrix", SelectMatrix<true>},
                                                {"stmatrix", SelectMatrix<false>},
                                                {"mma", SelectMatrixMultiply}};
  return FindIn(kMatrixRows, name);
}

}  // namespace vramstow::simulator::ptx
