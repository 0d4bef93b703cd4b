// Wrapper replaces an operator's CUDA kernel: it runs the kernel, then makes the simulator compute
// the operator's results.
//
// Idea: it is registered in PyTorch's dispatcher in place of the kernel, below autograd and all
// modes, in every thread. Kernels launched meanwhile take their time but have no effect. An
// operator that calls other operators is computed from its original arguments. If the outer
// operator changes a tensor in place, the inner operators must not have changed the tensor before.
// So inner operators are not computed for such a tensor.
//
// Ownership: the dispatcher owns wrappers. Threads: any. Errors: the kernel's exceptions pass
// through. Units: none.
#ifndef VRAMSTOW_ADAPTERS_VALUES_WRAPPER_H_
#define VRAMSTOW_ADAPTERS_VALUES_WRAPPER_H_

#include <ATen/core/boxing/KernelFunction.h>

#include <memory>

#include "adapters/values/plan.h"

namespace vramstow::values {

class Wrapper : public c10::OperatorKernel {
 public:
  Wrapper(std::unique_ptr<Plan> plan, c10::KernelFunction kernel)
      : plan_(std::move(plan)), kernel_(std::move(kernel)) {}

  void operator()(const c10::OperatorHandle& op, c10::DispatchKeySet keys, Stack* stack);

 private:
  // Calls the kernel and reports which memory it uses. Used when nothing is computed.
  void CallWithoutValues(const c10::OperatorHandle& op, c10::DispatchKeySet keys,
                         Stack* stack) const;
  void CallWithSize(const c10::OperatorHandle& op, c10::DispatchKeySet keys, Stack* stack) const;

  std::unique_ptr<Plan> plan_;
  c10::KernelFunction kernel_;
};

// Wraps a kernel that merges entries of a sparse tensor. Its result is not computed, so it has as
// many entries as its argument.
class CoalesceWrapper : public c10::OperatorKernel {
 public:
  explicit CoalesceWrapper(c10::KernelFunction kernel) : kernel_(std::move(kernel)) {}

  void operator()(const c10::OperatorHandle& op, c10::DispatchKeySet keys, Stack* stack);

 private:
  c10::KernelFunction kernel_;
};

}  // namespace vramstow::values

#endif  // VRAMSTOW_ADAPTERS_VALUES_WRAPPER_H_
