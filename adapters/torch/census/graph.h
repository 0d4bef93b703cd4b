// Graph reads PyTorch's objects for the census: tensors, their storage, and the tensors that
// autograd saves.
//
// Idea: everything is read in place. No tensor is asked for its grad_fn, because that may make a
// node; no saved tensor is unpacked, because that runs hooks. The tensors that a node saved are
// found by a table that is generated from PyTorch's own header when this library is compiled.
//
// Ownership: borrowed pointers. Threads: the caller holds the interpreter's lock. A node that
// another thread works on is skipped. Errors: nothing is found. Units: bytes.
#ifndef VRAMSTOW_ADAPTERS_TORCH_CENSUS_GRAPH_H_
#define VRAMSTOW_ADAPTERS_TORCH_CENSUS_GRAPH_H_

#include <c10/core/TensorImpl.h>
#include <torch/csrc/autograd/function.h>
#include <torch/csrc/autograd/variable.h>

#include <functional>
#include <string>

#include "adapters/torch/census/cpython.h"

namespace vramstow::torch_census {

using Impl = c10::TensorImpl;
using Node = torch::autograd::Node;

// The memory of a tensor on a CUDA device.
struct Memory {
  uint64_t address = 0;  // 0 if there is none
  uint64_t bytes = 0;
  int device = -1;
};

class Graph {
 public:
  // Looks up PyTorch's types in Python's modules. Returns false if this PyTorch is not supported.
  static bool Look();

  static bool IsTensor(const Type* type);
  static bool IsModule(const Type* type);
  static bool IsOptimizer(const Type* type);
  static bool IsContext(const Type* type);  // true for the context of a torch.autograd.Function
  // True if `held` is the context of the function that made the tensor `holder`. Python reaches it
  // from the tensor without a step through the node.
  static bool IsGradFn(const Object* holder, const Object* held);

  static Impl* ImplOf(Object* tensor);
  static Memory MemoryOf(const Impl* impl);
  static Impl* GradientOf(const Impl* impl);
  static Node* NodeOf(const Impl* impl);
  // Returns a text like "float32 [64, 1024], requires grad, made by AddmmBackward0".
  static std::string Describe(const Impl* impl);
  static std::string NameOf(Node* node);
  // Returns the tensor whose gradient the node accumulates, or null if it is another kind of node.
  static const Impl* LeafOf(const Node* node);

  // Calls back for each object that the node holds: nodes, tensors, and the context in Python.
  // `working` is the id of the thread that does not run meanwhile and may be working on a node.
  // Returns false if another thread works on this node.
  struct Visit {
    std::function<void(Node*)> node;
    std::function<void(Impl*)> saved;
    std::function<void(Object*)> context;
  };
  static bool Expand(Node* node, int working, const Visit& visit);
  // Calls back for each tensor that the context saved.
  static void ExpandContext(Object* context, const std::function<void(Impl*)>& saved);
};

}  // namespace vramstow::torch_census

#endif  // VRAMSTOW_ADAPTERS_TORCH_CENSUS_GRAPH_H_
