// Graph: PyTorch's objects as the census sees them: tensors, their storage, and what autograd
// keeps.
//
// Idea: everything is read where it lies. Nothing asks a tensor for its grad_fn, because that may
// make a node; nothing unpacks what was saved, because that runs hooks. What a node saved is found
// by a table that is made from PyTorch's own header when this library is compiled.
//
// Ownership: borrowed pointers. Threads: who calls holds the interpreter's lock. A node that
// another thread works on is left out. Errors: nothing is found. Units: bytes.
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

// Memory of a tensor on a CUDA device.
struct Memory {
  uint64_t address = 0;  // 0: none
  uint64_t bytes = 0;
  int device = -1;
};

class Graph {
 public:
  // Looks up PyTorch's types in Python's modules. False: this PyTorch is not as it is known.
  static bool Look();

  static bool IsTensor(const Type* type);
  static bool IsModule(const Type* type);
  static bool IsOptimizer(const Type* type);
  static bool IsContext(const Type* type);  // of a function of the program's own, in Python

  static Impl* ImplOf(Object* tensor);
  static Memory MemoryOf(const Impl* impl);
  static Impl* GradientOf(const Impl* impl);
  static Node* NodeOf(const Impl* impl);
  // "float32 [64, 1024], requires grad, made by AddmmBackward0".
  static std::string Describe(const Impl* impl);
  static std::string NameOf(Node* node);
  // The tensor whose gradient the node adds up; null: it is another node.
  static const Impl* LeafOf(const Node* node);

  // Calls back for what the node holds: nodes, tensors, and the context in Python. `working`: the
  // id of the thread that stands still meanwhile and may be at work on a node. False: another
  // thread is at work on this node.
  struct Visit {
    std::function<void(Node*)> node;
    std::function<void(Impl*)> saved;
    std::function<void(Object*)> context;
  };
  static bool Expand(Node* node, int working, const Visit& visit);
  // The tensors that the context saved.
  static void ExpandContext(Object* context, const std::function<void(Impl*)>& saved);
};

}  // namespace vramstow::torch_census

#endif  // VRAMSTOW_ADAPTERS_TORCH_CENSUS_GRAPH_H_
