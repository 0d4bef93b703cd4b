#include "adapters/values/operator_call.h"

#include <string>

namespace vramstow::values {

const c10::IValue* OperatorCall::Find(std::string_view name) const {
  const auto& arguments = schema_.arguments();
  for (size_t i = 0; i < arguments.size() && i < stack_->size(); ++i) {
    if (arguments[i].name() != name) continue;
    return (*stack_)[i].isNone() ? nullptr : &(*stack_)[i];
  }
  return nullptr;
}

const c10::IValue& OperatorCall::Get(std::string_view name) const {
  const c10::IValue* found = Find(name);
  TORCH_CHECK(found != nullptr, "no argument ", std::string(name));
  return *found;
}

at::Tensor OperatorCall::MaybeTensor(std::string_view name) const {
  const c10::IValue* found = Find(name);
  return found == nullptr || !found->isTensor() ? at::Tensor() : found->toTensor();
}

bool OperatorCall::Flag(std::string_view name, bool otherwise) const {
  const c10::IValue* found = Find(name);
  return found == nullptr ? otherwise : found->toBool();
}

double OperatorCall::Number(std::string_view name, double otherwise) const {
  const c10::IValue* found = Find(name);
  return found == nullptr ? otherwise : found->toDouble();
}

int64_t OperatorCall::Count(std::string_view name, int64_t otherwise) const {
  const c10::IValue* found = Find(name);
  return found == nullptr ? otherwise : found->toInt();
}

void OperatorCall::Return(std::vector<c10::IValue> results) const {
  *stack_ = std::move(results);
  stack_->resize(std::max(stack_->size(), schema_.returns().size()));
}

}  // namespace vramstow::values
