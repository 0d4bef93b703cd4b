// Plan describes how the results of one operator are computed on the host.
//
// Idea: an operator's schema shows which of its arguments it writes and which of its results are
// new. If PyTorch has a CPU kernel of the same operator, that kernel computes the results. An
// operator that only GPUs have (cuDNN's, fused attention) has a rule (rules.h).
//
// Ownership: plans live as long as the process. Threads: constant once made. Errors: null if the
// operator needs no computing. Units: none.
#ifndef VRAMSTOW_ADAPTERS_VALUES_PLAN_H_
#define VRAMSTOW_ADAPTERS_VALUES_PLAN_H_

#include <ATen/core/dispatch/Dispatcher.h>

#include <memory>
#include <optional>
#include <vector>

#include "adapters/values/rules.h"

namespace vramstow::values {

using Stack = torch::jit::Stack;

enum class Family : uint8_t {
  kOrdinary,
  kSizedByData,  // reads a number from the device: the size of nonzero's result, equal's answer
  kRandom,
};

struct Plan {
  explicit Plan(c10::OperatorHandle which) : op(std::move(which)) {}

  c10::OperatorHandle op;
  const char* name = nullptr;  // lives as long as the process
  Family family = Family::kOrdinary;
  bool sizes_result = false;      // for kSizedByData: true if the number is the result's size
  bool zeroing = false;           // its first argument becomes zeros
  Rule rule = nullptr;            // null if the operator's CPU kernel is used
  std::vector<bool> written;      // for each argument: true if it is changed in place
  std::vector<bool> overwritten;  // for each argument: true if it is written but not read
  std::vector<bool> fresh;        // for each result: true if it is no argument
};

// Returns null if there is nothing to compute, or no way to compute it.
std::unique_ptr<Plan> MakePlan(const c10::OperatorHandle& op);

// Returns the number of operations of a matrix product, counted in the same way as the option gemm=
// of the SPEC does. Returns 0 for other operators.
uint64_t CountOperations(const Plan& plan, const Stack& arguments, const Stack& results);

}  // namespace vramstow::values

#endif  // VRAMSTOW_ADAPTERS_VALUES_PLAN_H_
