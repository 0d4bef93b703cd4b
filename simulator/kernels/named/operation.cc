#include "simulator/kernels/named/operation.h"

#include <algorithm>
#include <cstring>

#include "base/rounding.h"
#include "simulator/kernels/named/name.h"

namespace vramstow::simulator {
namespace {

// What a functor object holds: kValue of the element's type, kExponent of the second template
// argument's.
enum class Member : uint8_t { kNone, kMode, kValue, kOpmath, kExponent };
enum class Gives : uint8_t { kSame, kBool };

struct Known {
  std::string_view head;
  Op op;
  int operands;
  Gives gives = Gives::kSame;
  Member members[kScalarsMax] = {};
  int typed_by = 0;  // the operand whose type is computed in
  int number = 0;    // of the lambda, where a function has several; 0: any
  int first = 0;     // of the outermost lambda; 0: any
};

constexpr Member kMode = Member::kMode;
constexpr Member kValue = Member::kValue;
constexpr Member kOpmath = Member::kOpmath;
constexpr Gives kSame = Gives::kSame;
constexpr Gives kBool = Gives::kBool;

// Class templates whose argument is the element type.
constexpr Known kClasses[] = {
    {"FillFunctor", Op::kFill, 0, kSame, {kValue}},
    {"CUDAFunctor_add", Op::kAdd, 2, kSame, {kOpmath}},
    {"CUDAFunctorOnSelf_add", Op::kAddToSelf, 1, kSame, {kOpmath, kOpmath}},
    {"CUDAFunctorOnOther_add", Op::kAddToOther, 1, kSame, {kOpmath, kOpmath}},
    {"MulFunctor", Op::kMultiply, 2},
    {"DivFunctor", Op::kDivide, 2},
    {"AbsFunctor", Op::kAbsolute, 1},
    {"CompareEqFunctor", Op::kEqual, 2, kBool, {kMode}},
    {"CompareFunctor", Op::kCompare, 2, kBool, {kMode}},
    {"BitwiseAndFunctor", Op::kBitAnd, 2},
    {"BitwiseOrFunctor", Op::kBitOr, 2},
    {"BitwiseXorFunctor", Op::kBitXor, 2},
};

// Lambdas, by the function that they are written in.
constexpr Known kLambdas[] = {
    {"direct_copy_kernel_cuda", Op::kCopy, 1},
    {"converting_copy_kernel_cuda", Op::kCopy, 1},
    {"neg_kernel_cuda", Op::kNegate, 1},
    {"sign_kernel_cuda", Op::kSign, 1},
    {"abs_kernel_cuda", Op::kAbsolute, 1},
    {"bitwise_not_kernel_cuda", Op::kBitNot, 1},
    {"logical_not_kernel_cuda", Op::kLogicalNot, 1, kBool},
    {"isposinf_kernel_impl", Op::kIsPositiveInfinity, 1, kBool},
    {"isneginf_kernel_impl", Op::kIsNegativeInfinity, 1, kBool},
    {"logical_and_kernel_cuda", Op::kLogicalAnd, 2, kBool},
    {"logical_or_kernel_cuda", Op::kLogicalOr, 2, kBool},
    {"logical_xor_kernel_cuda", Op::kLogicalXor, 2, kBool},
    {"maximum_kernel_cuda", Op::kMaximum, 2},
    {"minimum_kernel_cuda", Op::kMinimum, 2},
    {"remainder_kernel_cuda", Op::kRemainder, 2},
    {"fmod_kernel_cuda", Op::kFmod, 2},
    {"div_floor_kernel_cuda", Op::kDivideFloor, 2},
    {"div_trunc_kernel_cuda", Op::kDivideTruncate, 2},
    // By a number: {divisor, its reciprocal}.
    {"div_floor_kernel_cuda", Op::kDivideFloor, 1, kSame, {kOpmath, kOpmath}},
    {"launch_clamp_scalar", Op::kClamp, 1, kSame, {kMode, kOpmath, kOpmath}},
    {"compare_scalar_kernel", Op::kCompare, 1, kBool, {kMode, kValue}},
    {"masked_fill_kernel", Op::kMaskedFill, 2, kSame, {kValue}},
    {"masked_scale_kernel", Op::kMaskedScale, 2, kSame, {kOpmath}},
    {"where_kernel_impl", Op::kWhere, 3, kSame, {}, 1},
    {"exp_kernel_cuda", Op::kExp, 1},
    {"expm1_kernel_cuda", Op::kExpm1, 1},
    {"log_kernel_cuda", Op::kLog, 1},
    {"log1p_kernel_cuda", Op::kLog1p, 1},
    {"log2_kernel_cuda", Op::kLog2, 1},
    {"log10_kernel_cuda", Op::kLog10, 1},
    {"sqrt_kernel_cuda", Op::kSqrt, 1},
    {"rsqrt_kernel_cuda", Op::kReciprocalSqrt, 1},
    {"reciprocal_kernel_cuda", Op::kReciprocal, 1},
    {"sin_kernel_cuda", Op::kSin, 1},
    {"cos_kernel_cuda", Op::kCos, 1},
    {"tanh_kernel_cuda", Op::kTanh, 1},
    {"erf_kernel_cuda", Op::kErf, 1},
    {"floor_kernel_cuda", Op::kFloor, 1},
    {"ceil_kernel_cuda", Op::kCeil, 1},
    {"round_kernel_cuda", Op::kRound, 1},
    {"trunc_kernel_cuda", Op::kTruncate, 1},
    {"sigmoid_kernel_cuda", Op::kSigmoid, 1},
    {"silu_kernel", Op::kSilu, 1},
    {"GeluCUDAKernelImpl", Op::kGeluTanh, 1, kSame, {}, 0, 0, 1},
    {"GeluCUDAKernelImpl", Op::kGeluErf, 1, kSame, {}, 0, 0, 2},
    {"sigmoid_backward_kernel_cuda", Op::kSigmoidBackward, 2},
    {"tanh_backward_kernel_cuda", Op::kTanhBackward, 2},
    {"silu_backward_kernel", Op::kSiluBackward, 2},
    {"GeluBackwardCUDAKernelImpl", Op::kGeluTanhBackward, 2, kSame, {}, 0, 0, 1},
    {"GeluBackwardCUDAKernelImpl", Op::kGeluErfBackward, 2, kSame, {}, 0, 0, 2},
    {"pow_tensor_scalar_kernel_impl", Op::kSquare, 1, kSame, {}, 0, 1},
    {"pow_tensor_scalar_kernel_impl", Op::kCube, 1, kSame, {}, 0, 2},
    {"pow_tensor_scalar_kernel_impl", Op::kInverseSquare, 1, kSame, {}, 0, 3},
    {"pow_tensor_scalar_kernel_impl", Op::kPower, 1, kSame, {Member::kExponent}, 0, 4},
    {"threshold_kernel_impl", Op::kThreshold, 2, kSame, {kValue, kValue}},
    {"mse_kernel_cuda", Op::kSquaredDifference, 2},
    {"mse_backward_cuda_kernel", Op::kMseBackward, 3, kSame, {kValue}},
    {"addcmul_cuda_kernel", Op::kAddProduct, 3, kSame, {kOpmath}},
    {"addcdiv_cuda_kernel", Op::kAddQuotient, 3, kSame, {kOpmath}},
    {"lerp_scalar_kernel", Op::kLerp, 2, kSame, {kOpmath}},
};

// Functions that only fractions have.
bool NeedsFraction(Op op) {
  return (op >= Op::kExp && op <= Op::kGeluErfBackward) || op == Op::kInverseSquare ||
         op == Op::kAddQuotient || op == Op::kLerp;
}

Element TypeOf(Member member, Element element, const FunctorName& name) {
  if (member == Member::kOpmath) return OpmathType(element);
  if (member != Member::kExponent) return element;
  return name.arguments.size() == 2 ? ElementNamed(name.arguments[1]) : Element::kNone;
}

bool Describe(const Known& known, Element element, const FunctorName& name, Operation* operation) {
  operation->op = known.op;
  operation->compute = ComputeType(element);
  operation->output = known.gives == Gives::kBool ? Element::kBool : element;
  for (const Member member : known.members) {
    if (member == Member::kNone) break;
    if (member == Member::kMode) {
      operation->mode_offset = static_cast<int>(operation->AddMember(4, 4));
      continue;
    }
    const Element type = TypeOf(member, element, name);
    if (type == Element::kNone) return false;
    operation->scalars.push_back({operation->AddMember(BytesOf(type), BytesOf(type)), type});
  }
  return element != Element::kNone &&
         (operation->compute != Element::kInt64 || !NeedsFraction(known.op));
}

bool ParseClass(const FunctorName& name, Operation* operation) {
  for (const Known& known : kClasses) {
    if (name.head != known.head || name.arguments.size() != 1) continue;
    const Element element = ElementNamed(name.arguments[0]);
    operation->inputs.assign(known.operands, element);
    return Describe(known, element, name, operation);
  }
  return false;
}

bool ParseLambda(const FunctorName& name, Operation* operation) {
  for (const Known& known : kLambdas) {
    if (name.head != known.head || (known.number != 0 && name.number != known.number) ||
        (known.first != 0 && name.first_number != known.first) ||
        static_cast<int>(name.parameters.size()) != known.operands) {
      continue;
    }
    for (const std::string_view parameter : name.parameters) {
      operation->inputs.push_back(ElementNamed(parameter));
      if (operation->inputs.back() == Element::kNone) return false;
    }
    if (!Describe(known, operation->inputs[known.typed_by], name, operation)) return false;
    // Bits of a bool: there is one.
    if (operation->op == Op::kBitNot && operation->output == Element::kBool) {
      operation->op = Op::kLogicalNot;
    }
    // A number in place of a tensor is the second operand.
    if (known.op == Op::kCompare || (known.op == Op::kDivideFloor && known.operands == 1)) {
      operation->fixed_input = 1;
    }
    if (name.head == "converting_copy_kernel_cuda") {
      if (name.arguments.size() != 2) return false;
      operation->output = ElementNamed(name.arguments[1]);
    }
    return operation->output != Element::kNone;
  }
  return false;
}

bool ParseInner(std::string_view text, Operation* operation) {
  const FunctorName name = ParseFunctor(text);
  return name.lambda ? ParseLambda(name, operation) : ParseClass(name, operation);
}

// BinaryFunctor<A, B, R, F>: F with other types in memory. AUnaryFunctor and BUnaryFunctor hold
// F's first or second operand, in F's own type, behind F.
bool ParseWrapped(const FunctorName& name, Operation* operation) {
  if (name.arguments.size() != 4 || !ParseInner(name.arguments[3], operation) ||
      operation->inputs.size() != 2) {
    return false;
  }
  const Element types[2] = {operation->inputs[0], operation->inputs[1]};
  operation->inputs = {ElementNamed(name.arguments[0]), ElementNamed(name.arguments[1])};
  operation->output = ElementNamed(name.arguments[2]);
  if (name.head == "AUnaryFunctor") operation->fixed_input = 0;
  if (name.head == "BUnaryFunctor") operation->fixed_input = 1;
  if (operation->fixed_input >= 0) {
    // F is a member of its own, with its padding, and has a byte even if it holds nothing.
    operation->members_end = operation->bytes;
    const Element type = types[operation->fixed_input];
    if (operation->scalars.size() >= kScalarsMax) return false;
    operation->fixed_scalar = operation->scalars.size();
    operation->scalars.push_back({operation->AddMember(BytesOf(type), BytesOf(type)), type});
    operation->inputs.erase(operation->inputs.begin() + operation->fixed_input);
  }
  for (const Element input : operation->inputs) {
    if (input == Element::kNone) return false;
  }
  return operation->output != Element::kNone;
}

}  // namespace

size_t Operation::AddMember(size_t member_bytes, size_t member_alignment) {
  const size_t offset = RoundUp(members_end, member_alignment);
  members_end = offset + member_bytes;
  alignment = std::max(alignment, member_alignment);
  bytes = RoundUp(members_end, alignment);
  return offset;
}

bool ParseOperation(std::string_view functor, Operation* operation) {
  *operation = Operation();
  const FunctorName name = ParseFunctor(functor);
  const bool wrapped =
      name.head == "BinaryFunctor" || name.head == "AUnaryFunctor" || name.head == "BUnaryFunctor";
  return wrapped ? ParseWrapped(name, operation) : ParseInner(functor, operation);
}

template <typename T>
FunctorValues<T> ReadFunctor(const Operation& operation, const char* object) {
  FunctorValues<T> values;
  if (operation.mode_offset >= 0) memcpy(&values.mode, object + operation.mode_offset, 4);
  for (size_t i = 0; i < operation.scalars.size(); ++i) {
    const Operation::Scalar& scalar = operation.scalars[i];
    LoadElements(scalar.element, object + scalar.offset, 0, 1, &values.scalars[i]);
  }
  return values;
}

template FunctorValues<float> ReadFunctor(const Operation&, const char*);
template FunctorValues<double> ReadFunctor(const Operation&, const char*);
template FunctorValues<int64_t> ReadFunctor(const Operation&, const char*);

}  // namespace vramstow::simulator
