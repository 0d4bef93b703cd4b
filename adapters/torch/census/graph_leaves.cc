#include "adapters/torch/census/graph_leaves.h"

#include <utility>
#include <vector>

namespace vramstow::torch_census {
namespace {

constexpr size_t kMaxNodes = 300'000;

}  // namespace

bool GraphLeaves::AreUntrained(const Node* node) {
  if (!trained_.any()) return false;
  if (!known_.contains(node)) Fill(node);
  const auto found = known_.find(node);
  return found != known_.end() && found->second.has_parameters && !found->second.may_be_trained;
}

// Returns the leaves (parameters or inputs) whose gradient the node itself accumulates, not a node
// behind it.
GraphLeaves::Leaves GraphLeaves::LeavesOf(const Node* node) const {
  const Impl* leaf = Graph::LeafOf(node);
  if (leaf == nullptr) return {};
  const bool is_of_model = walk_.models().Find(leaf, What::kImpl) != kNowhere;
  // A tensor that is no parameter, for example a picture, counts as trained: the program may need
  // its gradient.
  return {is_of_model, !is_of_model || !trained_.IsUntrained(leaf)};
}

// Visits the graph in depth-first order. The result for a node is complete when the results for all
// nodes that it leads to are complete.
void GraphLeaves::Fill(const Node* first) {
  std::vector<std::pair<const Node*, size_t>> open = {{first, 0}};
  known_[first] = LeavesOf(first);
  while (!open.empty()) {
    auto& [node, next] = open.back();
    if (next < node->next_edges().size()) {
      const Node* child = node->next_edges()[next++].function.get();
      if (child == nullptr || known_.contains(child)) {
        continue;
      }
      if (known_.size() >= kMaxNodes) {
        for (const auto& [waiting, edge] : open) known_[waiting].may_be_trained = true;
        return;
      }
      known_[child] = LeavesOf(child);
      open.emplace_back(child, 0);
      continue;
    }
    Leaves leaves = known_[node];
    for (const auto& edge : node->next_edges()) {
      const auto found = known_.find(edge.function.get());
      if (found == known_.end()) continue;
      leaves.has_parameters |= found->second.has_parameters;
      leaves.may_be_trained |= found->second.may_be_trained;
    }
    known_[node] = leaves;
    open.pop_back();
  }
}

}  // namespace vramstow::torch_census
