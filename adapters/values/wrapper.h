// The wrapper around an operator's CUDA kernel: runs it as ever, then has the simulator compute its
// results.
//
// Idea: it stands in PyTorch's dispatcher in place of the kernel, below autograd and all modes, in
// every thread. Kernels launched meanwhile take their time and do nothing. An operator that calls
// others computes with the bytes that it was given, so what the inner ones did to a tensor that the
// outer one changes in place must not have happened yet: they leave that alone.
//
// Ownership: the dispatcher owns wrappers. Threads: any. Errors: the kernel's exceptions pass.
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
  // Calls the kernel where nothing is computed, and tells what it uses.
  void CallWithoutValues(const c10::OperatorHandle& op, c10::DispatchKeySet keys,
                         Stack* stack) const;
  void CallWithSize(const c10::OperatorHandle& op, c10::DispatchKeySet keys, Stack* stack) const;

  std::unique_ptr<Plan> plan_;
  c10::KernelFunction kernel_;
};

// Around a kernel that puts entries of a sparse tensor together: what it computes is not known, so
// the result has as many entries as were given.
class CoalesceWrapper : public c10::OperatorKernel {
 public:
  explicit CoalesceWrapper(c10::KernelFunction kernel) : kernel_(std::move(kernel)) {}

  void operator()(const c10::OperatorHandle& op, c10::DispatchKeySet keys, Stack* stack);

 private:
  c10::KernelFunction kernel_;
};

}  // namespace vramstow::values

#endif  // VRAMSTOW_ADAPTERS_VALUES_WRAPPER_H_
