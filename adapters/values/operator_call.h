// OperatorCall: one call of an operator, read by the names of its arguments.
//
// Idea: releases of PyTorch add arguments to an operator and keep the names of those that were
// there, so rules that read by name fit all of them.
//
// Ownership: refers to a schema and a stack. Threads: one. Errors: c10::Error where an argument is
// missing that has no default here.
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

  // Null: there is no such argument, or it is None.
  const c10::IValue* Find(std::string_view name) const;
  const c10::IValue& Get(std::string_view name) const;
  at::Tensor Tensor(std::string_view name) const { return Get(name).toTensor(); }
  // Undefined: none was given.
  at::Tensor MaybeTensor(std::string_view name) const;
  bool Flag(std::string_view name, bool otherwise) const;
  double Number(std::string_view name, double otherwise) const;
  int64_t Count(std::string_view name, int64_t otherwise) const;

  // The results take the place of the arguments; those that the schema has beyond these are left
  // as they are on the device.
  void Return(std::vector<c10::IValue> results) const;

 private:
  const c10::FunctionSchema& schema_;
  torch::jit::Stack* stack_;
};

}  // namespace vramstow::values

#endif  // VRAMSTOW_ADAPTERS_VALUES_OPERATOR_CALL_H_
