// What a functor computes: from its name to an operation on numbers.
//
// Idea: PyTorch's elementwise kernels are a loop over tensors and a functor; the loops are few, the
// functors many. This is the table of functors: how many operands, of which types, what the functor
// object holds and where (in C++'s natural layout), and the arithmetic.
//
// Ownership: values. Threads: no state. Errors: an unknown functor gives false.
#ifndef VRAMSTOW_SIMULATOR_KERNELS_NAMED_OPERATION_H_
#define VRAMSTOW_SIMULATOR_KERNELS_NAMED_OPERATION_H_

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "simulator/kernels/named/element.h"

namespace vramstow::simulator {

enum class Op : uint8_t {
  kFill,
  kCopy,
  kAdd,
  kAddToSelf,
  kAddToOther,
  kMultiply,
  kDivide,
  kDivideFloor,
  kDivideTruncate,
  kRemainder,
  kFmod,
  kMaximum,
  kMinimum,
  kEqual,
  kCompare,
  kBitAnd,
  kBitOr,
  kBitXor,
  kBitNot,
  kLogicalAnd,
  kLogicalOr,
  kLogicalXor,
  kLogicalNot,
  kIsPositiveInfinity,
  kIsNegativeInfinity,
  kNegate,
  kAbsolute,
  kSign,
  kSquare,
  kCube,
  kInverseSquare,
  kPower,
  kClamp,
  kMaskedFill,
  kMaskedScale,
  kWhere,
  kExp,
  kExpm1,
  kLog,
  kLog1p,
  kLog2,
  kLog10,
  kSqrt,
  kReciprocalSqrt,
  kReciprocal,
  kSin,
  kCos,
  kTanh,
  kErf,
  kFloor,
  kCeil,
  kRound,
  kTruncate,
  kSigmoid,
  kSilu,
  kGeluTanh,
  kGeluErf,
  kSigmoidBackward,
  kTanhBackward,
  kSiluBackward,
  kGeluTanhBackward,
  kGeluErfBackward,
  kThreshold,
  kSquaredDifference,
  kMseBackward,
  kAddProduct,
  kAddQuotient,
  kLerp,
};

inline constexpr int kInputsMax = 4;
inline constexpr int kScalarsMax = 3;

struct Operation {
  Op op = Op::kFill;
  Element compute = Element::kNone;
  Element output = Element::kNone;
  std::vector<Element> inputs;  // of the tensors that the loop reads

  // The functor object.
  size_t bytes = 1;
  size_t alignment = 1;
  size_t members_end = 0;  // without the padding at the end
  int mode_offset = -1;    // of a 32-bit number that chooses among variants; -1: none
  struct Scalar {
    size_t offset = 0;
    Element element = Element::kNone;
  };
  std::vector<Scalar> scalars;
  int fixed_input = -1;  // the operand that is not a tensor but a scalar; -1: none
  size_t fixed_scalar = 0;

  // Adds a member to the functor object; its offset.
  size_t AddMember(size_t member_bytes, size_t member_alignment);
};

// Understands the functor with this (simplified) name. False: unknown, or of a type that is not
// computed here.
bool ParseOperation(std::string_view functor, Operation* operation);

// The functor's own numbers, read from its object.
template <typename T>
struct FunctorValues {
  int32_t mode = 0;
  T scalars[kScalarsMax] = {};
};
template <typename T>
FunctorValues<T> ReadFunctor(const Operation& operation, const char* object);

// in[i] for each operand in the functor's order, fixed ones included. `out` may be one of them.
template <typename T>
void Apply(Op op, const FunctorValues<T>& values, const T* const in[], T* out, size_t count);

}  // namespace vramstow::simulator

#endif  // VRAMSTOW_SIMULATOR_KERNELS_NAMED_OPERATION_H_
