// PyTorch's foreach kernels: one operation over lists of tensors, as optimizers use them.
//
// Source: ATen/native/cuda/ForeachFunctors.cuh of PyTorch 2.15.
#include <algorithm>

#include "simulator/kernels/named/kernels.h"
#include "simulator/kernels/named/loop.h"
#include "simulator/kernels/named/tensor_list.h"

namespace vramstow::simulator {
namespace {

constexpr EmulationLimits kNoLimits = {UINT64_MAX, UINT64_MAX};  // for the parts of one

// Where the scalar of an operation comes from.
enum class ScalarFrom : uint8_t { kNowhere, kArgument, kList, kMemory };

struct ListOperation {
  Operation operation;
  ScalarFrom scalar_from = ScalarFrom::kNowhere;
  Element scalar = Element::kNone;
  int scalar_slot = 0;          // which of the functor's numbers it is
  double scale = 1;             // the scalar's factor: -1 for a difference
  double other = 0;             // the functor's other number
  size_t depth = 0;             // lists of tensors
  size_t result = 0;            // the list that is written
  std::vector<Argument> extra;  // arguments behind the operation object
};

class ListEmulation : public Emulation {
 public:
  explicit ListEmulation(const ListOperation& list)
      : Emulation(Arguments(list)), list_(list), layout_(Layout(list)) {}

  Outcome Run(const KernelLaunch& launch, KernelMemory* memory) const override {
    return RunParts(launch, layout_, BytesOf(list_.operation.output),
                    [&](const ListPart& part) { return RunPart(launch, part, memory); });
  }

 private:
  static Element ListScalars(const ListOperation& list) {
    return list.scalar_from == ScalarFrom::kList ? list.scalar : Element::kNone;
  }

  static TensorListLayout Layout(const ListOperation& list) {
    const Element scalars = ListScalars(list);
    return {list.depth, BytesOf(scalars), scalars == Element::kNone};
  }

  // Metadata, functor and operation object, both without members, and what the functor takes.
  static std::vector<Argument> Arguments(const ListOperation& list) {
    std::vector<Argument> arguments = {{Layout(list).bytes, 8}, {1, 1}, {1, 1}};
    arguments.insert(arguments.end(), list.extra.begin(), list.extra.end());
    return arguments;
  }

  bool ReadScalar(const KernelLaunch& launch, size_t tensor, KernelMemory* memory,
                  double* value) const {
    const size_t bytes = BytesOf(list_.scalar);
    const char* at = nullptr;
    switch (list_.scalar_from) {
      case ScalarFrom::kNowhere:
        return true;
      case ScalarFrom::kArgument:
        at = (*launch.arguments)[3];
        break;
      case ScalarFrom::kList:
        at = (*launch.arguments)[0] + layout_.values + bytes * tensor;
        break;
      case ScalarFrom::kMemory:
        at = memory->At(launch.Get<uint64_t>(3, 0), bytes, false);
        break;
    }
    if (at == nullptr) return false;
    LoadElements(list_.scalar, at, 0, 1, value);
    return true;
  }

  Outcome RunPart(const KernelLaunch& launch, const ListPart& part, KernelMemory* memory) const {
    const size_t tensor = part.tensor;
    double numbers[2] = {list_.other, list_.other};
    double scalar = 0;
    if (!ReadScalar(launch, tensor, memory, &scalar)) return Outcome::kIllegalAddress;
    if (list_.scalar_from == ScalarFrom::kMemory) scalar *= MemoryFactor(launch);
    numbers[list_.scalar_slot] = scalar * list_.scale;

    const Element element = list_.operation.output;
    const uint64_t offset = part.first * BytesOf(element);
    Operand operands[kInputsMax + 1];
    operands[0] = Operand::Row(
        launch.Get<uint64_t>(0, layout_.Address(list_.result, tensor)) + offset, element);
    for (size_t i = 0; i < list_.operation.inputs.size(); ++i) {
      operands[i + 1] =
          Operand::Row(launch.Get<uint64_t>(0, layout_.Address(i, tensor)) + offset, element);
    }
    return RunLoop(list_.operation, reinterpret_cast<const char*>(numbers), Shape::Row(part.count),
                   operands, kNoLimits, memory);
  }

  // (T* scalar, opmath alpha): the scalar in memory is taken alpha times.
  double MemoryFactor(const KernelLaunch& launch) const {
    double factor = 1;
    LoadElements(OpmathType(list_.scalar), (*launch.arguments)[4], 0, 1, &factor);
    return factor;
  }

  ListOperation list_;
  TensorListLayout layout_;
};

// std::plus<float> and kin, with a number as the second operand: x + s, x − s, x × s, x ÷ s.
bool SetBinary(std::string_view op, bool with_tensor, ListOperation* list) {
  Operation& operation = list->operation;
  if (op == "std::plus" || op == "std::minus") {
    operation.op = with_tensor ? Op::kAdd : Op::kAddToSelf;
    list->scale = op == "std::minus" ? -1 : 1;
    list->other = 1;
  } else if (op == "std::multiplies" || op == "std::divides") {
    operation.op = op == "std::divides" ? Op::kDivide : Op::kMultiply;
    if (!with_tensor) operation.fixed_input = 1;
  } else {
    return false;
  }
  return true;
}

bool SetUnary(std::string_view op, ListOperation* list) {
  static constexpr struct {
    std::string_view name;
    Op op;
  } kFunctions[] = {{"Sqrt", Op::kSqrt},
                    {"Exp", Op::kExp},
                    {"Log", Op::kLog},
                    {"Abs", Op::kAbsolute},
                    {"Tanh", Op::kTanh},
                    {"Sigmoid", Op::kSigmoid},
                    {"Floor", Op::kFloor},
                    {"Ceil", Op::kCeil},
                    {"Rsqrt", Op::kReciprocalSqrt},
                    {"Reciprocal", Op::kReciprocal}};
  for (const auto& entry : kFunctions) {
    if (op != entry.name) continue;
    list->operation.op = entry.op;
    return true;
  }
  return false;
}

bool SetPointwise(std::string_view op, ListOperation* list) {
  if (op != "std::multiplies" && op != "std::divides") return false;
  list->operation.op = op == "std::divides" ? Op::kAddQuotient : Op::kAddProduct;
  return true;
}

// The functor's kind decides the operands and where the scalar comes from.
bool SetFunctor(std::string_view functor, std::string_view op, ListOperation* list) {
  size_t inputs = 1;
  bool known = false;
  const auto set = [&](bool understood, size_t count, ScalarFrom from) {
    known = understood;
    inputs = count;
    list->scalar_from = from;
  };
  if (functor == "BinaryOpScalarFunctor") {
    set(SetBinary(op, false, list), 1, ScalarFrom::kArgument);
  } else if (functor == "BinaryOpScalarListFunctor") {
    set(SetBinary(op, false, list), 1, ScalarFrom::kList);
  } else if (functor == "BinaryOpScalarTensorFunctor") {
    set(SetBinary(op, false, list), 1, ScalarFrom::kMemory);
  } else if (functor == "BinaryOpListAlphaFunctor") {
    set(SetBinary(op, true, list), 2, ScalarFrom::kArgument);
  } else if (functor == "UnaryOpFunctor") {
    set(SetUnary(op, list), 1, ScalarFrom::kNowhere);
  } else if (functor == "PointwiseOpScalarFunctor") {
    set(SetPointwise(op, list), 3, ScalarFrom::kArgument);
  } else if (functor == "PointwiseOpScalarListFunctor") {
    set(SetPointwise(op, list), 3, ScalarFrom::kList);
  } else if (functor == "TernaryOpScalarFunctor") {
    list->operation.op = Op::kLerp;
    set(op == "LerpFunctor", 2, ScalarFrom::kArgument);
  }
  list->operation.inputs.assign(inputs, list->operation.output);
  return known;
}

size_t NumberOf(std::string_view text) {
  return text.size() == 1 && text[0] >= '0' && text[0] <= '9' ? static_cast<size_t>(text[0] - '0')
                                                              : SIZE_MAX;
}

}  // namespace

// multi_tensor_apply_kernel<metadata, Functor<T, depth, read, written>, Op<T>, …>
EmulationPointer MakeMultiTensor(const TemplateName& kernel) {
  if (kernel.head != "multi_tensor_apply_kernel" || kernel.arguments.size() < 3) return nullptr;
  const TemplateName metadata = ParseTemplate(kernel.arguments[0]);
  const TemplateName functor = ParseTemplate(kernel.arguments[1]);
  const TemplateName op = ParseTemplate(kernel.arguments[2]);
  if (functor.arguments.size() != 4) return nullptr;
  ListOperation list;
  const Element element = ElementNamed(functor.arguments[0]);
  list.operation.compute = ComputeType(element);
  list.operation.output = element;
  list.depth = NumberOf(functor.arguments[1]);
  list.result = NumberOf(functor.arguments[3]);
  if (element == Element::kNone || list.operation.compute == Element::kInt64 || list.depth == 0 ||
      list.depth > kListDepthMax || list.result >= list.depth ||
      !SetFunctor(functor.head, op.head, &list)) {
    return nullptr;
  }
  // Numbers are handed to the loop as two doubles, whatever they are in the launch.
  list.operation.scalars = {{0, Element::kDouble}, {8, Element::kDouble}};
  list.scalar = OpmathType(element);
  if (list.scalar_from == ScalarFrom::kArgument) {
    list.extra = {{BytesOf(list.scalar), BytesOf(list.scalar)}};
  } else if (list.scalar_from == ScalarFrom::kMemory) {
    list.scalar = element;
    list.extra = {{8, 8}, {BytesOf(OpmathType(element)), BytesOf(OpmathType(element))}};
  }
  const bool by_list = metadata.head == "TensorListScalarListMetadata";
  if (by_list != (list.scalar_from == ScalarFrom::kList) ||
      (!by_list && metadata.head != "TensorListMetadata") ||
      list.operation.inputs.size() > list.depth) {
    return nullptr;
  }
  return std::make_unique<ListEmulation>(list);
}

}  // namespace vramstow::simulator
