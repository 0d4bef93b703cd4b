// GraphLeaves finds the parameters that a backward pass through a part of the graph would reach.
//
// Idea: the graph of a teacher model, or of another model that is not trained, ends in parameters
// that no optimizer has. Such a graph holds tensors for gradients that are never used. Each node is
// visited once, even if several nodes lead to it.
//
// Ownership: borrowed pointers. Threads: the caller holds the interpreter's lock; the edges of a
// node never change. Errors: for a graph that is too large nothing is reported. Units: none.
#ifndef VRAMSTOW_ADAPTERS_TORCH_CENSUS_GRAPH_LEAVES_H_
#define VRAMSTOW_ADAPTERS_TORCH_CENSUS_GRAPH_LEAVES_H_

#include <unordered_map>

#include "adapters/torch/census/trained_tensors.h"
#include "adapters/torch/census/walk.h"

namespace vramstow::torch_census {

class GraphLeaves {
 public:
  // Both arguments must outlive this object.
  GraphLeaves(const Walk& walk, const TrainedTensors& trained) : walk_(walk), trained_(trained) {}

  // True if the graph from this node on ends in parameters of models, and no optimizer has any of
  // them. Also false if that cannot be determined.
  bool AreUntrained(const Node* node);

 private:
  struct Leaves {
    bool has_parameters = false;
    bool may_be_trained = false;
  };

  Leaves LeavesOf(const Node* node) const;
  void Fill(const Node* first);

  const Walk& walk_;
  const TrainedTensors& trained_;
  std::unordered_map<const Node*, Leaves> known_;
};

}  // namespace vramstow::torch_census

#endif  // VRAMSTOW_ADAPTERS_TORCH_CENSUS_GRAPH_LEAVES_H_
