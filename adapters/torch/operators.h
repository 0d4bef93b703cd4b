// Operators: what PyTorch says is at work on a thread, for traces that keep stacks.
//
// Idea: PyTorch tells whoever asks when an operator or a function of the backward pass begins and
// ends, and Python's start-up hook tells the same of modules. An allocation belongs to the
// innermost of each. A forward operator and its backward function have a number in common: by it
// the backward pass gets the module of the forward pass.
//
// Ownership: static; module names are kept as long as the process. Threads: each has a list of its
// own; what links forward and backward has a lock of its own, a leaf. Errors: what is too deep, or
// too long ago, is not named. Units: none. Cost: nothing unless Follow was called.
#ifndef VRAMSTOW_ADAPTERS_TORCH_OPERATORS_H_
#define VRAMSTOW_ADAPTERS_TORCH_OPERATORS_H_

#include "adapters/torch/torch_api.h"

namespace vramstow::torch_adapter {

class Operators {
 public:
  static constexpr int kMostNames = 3;

  // Has PyTorch tell from now on. Once.
  static void Follow();

  // What the calling thread is at, the innermost first; returns how many. The texts are good until
  // the thread goes on.
  static int Names(vramstow_framework_name (&names)[kMostNames]);
};

}  // namespace vramstow::torch_adapter

#endif  // VRAMSTOW_ADAPTERS_TORCH_OPERATORS_H_
