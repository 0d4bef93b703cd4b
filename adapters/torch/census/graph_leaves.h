// GraphLeaves: what a backward pass through a part of the graph would reach.
//
// Idea: the graph of a teacher, or of another model that nobody trains, ends in parameters that no
// optimizer has. Such a graph keeps tensors for gradients that nobody uses. Each node is
// looked at once, whatever leads to it.
//
// Ownership: borrowed pointers. Threads: who calls holds the interpreter's lock; what a node leads
// to never changes. Errors: of a graph that is too large nothing is told. Units: none.
#ifndef VRAMSTOW_ADAPTERS_TORCH_CENSUS_GRAPH_LEAVES_H_
#define VRAMSTOW_ADAPTERS_TORCH_CENSUS_GRAPH_LEAVES_H_

#include <unordered_map>

#include "adapters/torch/census/trained_tensors.h"
#include "adapters/torch/census/walk.h"

namespace vramstow::torch_census {

class GraphLeaves {
 public:
  // Both must outlive this.
  GraphLeaves(const Walk& walk, const TrainedTensors& trained) : walk_(walk), trained_(trained) {}

  // Whether the graph from this node on ends in parameters of models, and no optimizer has any of
  // them. False, too, where it cannot be known.
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
