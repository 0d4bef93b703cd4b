// OperatorCall reads the arguments of one call of an operator by their names.
//
// Idea: new releases of PyTorch add arguments to an operator but preserve the existing names, so
// rules that read by name fit all releases.
//
// Ownership: refers to a schema and a stack. Threads: one. Errors: c10::Error if an argument
// without a default is missing. Units: none.
#ifndef VRAMSTOW_ADAPTERS_VALUES_OPERATOR_CALL_H_
#define VRAMSTOW_ADAPTERS_VALUES_OPERATOR_CALL_H_

#include <ATen/core/function_schema.h>
#include <ATen/core/stack.h>

#include <string_view>
#include <vector>

#include "adapters/values/operators.h"

namespace vramstow::values {

class OperatorCall {
 public:
  OperatorCall(const c10::FunctionSchema& schema, torch::jit::Stack* stack)
      : schema_(schema), stack_(stack) {}

  // Returns null if there is no such argument, or if it is None.
  const c10::IValue* Find(std::string_view name) const;
  const c10::IValue& Get(std::string_view name) const;
  at::Tensor Tensor(std::string_view name) const { return Get(name).toTensor(); }
  // Returns an undefined tensor if none was given.
  at::Tensor MaybeTensor(std::string_view name) const;
  bool Flag(std::string_view name, bool otherwise) const;
  double Number(std::string_view name, double otherwise) const;
  int64_t Count(std::string_view name, int64_t otherwise) const;

  // Replaces the arguments on the stack by the results. If the schema has more results than are
  // given, the missing ones are unchanged on the device.
  void Return(std::vector<c10::IValue> results) const;

 private:
  const c10::FunctionSchema& schema_;
  torch::jit::Stack* stack_;
};

}  // namespace vramstow::values

#endif  // VRAMSTOW_ADAPTERS_VALUES_OPERATOR_CALL_H_
