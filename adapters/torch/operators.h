// Operators tracks the operator, the backward function and the module that each thread is
// executing.
//
// Idea: a trace with stacks also contains the names of these three. PyTorch calls back when an
// operator or a function of the backward pass begins and ends, and Python's start-up hook does the
// same for modules. An allocation belongs to the innermost operator, backward function and module.
// A forward operator and its backward function have the same sequence number, by which the backward
// pass finds the module of the forward pass.
//
// Ownership: static; module names are retained as long as the process. Threads: each thread has its
// own list; a spin lock guards the links from backward to forward. Errors: no name for an operator
// that is nested too deeply or was executed too long ago. Units: none. Cost: nothing unless
// Follow() was called.
#ifndef VRAMSTOW_ADAPTERS_TORCH_OPERATORS_H_
#define VRAMSTOW_ADAPTERS_TORCH_OPERATORS_H_

#include "adapters/torch/torch_api.h"

namespace vramstow::torch_adapter {

class Operators {
 public:
  static constexpr int kMaxNames = 3;

  // Makes PyTorch call back from now on. Call it once.
  static void Follow();

  // Stores the names of the operations that the calling thread is in, the innermost first. Returns
  // their number. The texts are valid until an operation of this thread begins or ends.
  static int Names(vramstow_framework_name (&names)[kMaxNames]);
};

}  // namespace vramstow::torch_adapter

#endif  // VRAMSTOW_ADAPTERS_TORCH_OPERATORS_H_
