#include "adapters/torch/census/trained_tensors.h"

#include <algorithm>

#include "adapters/torch/census/naming.h"

namespace vramstow::torch_census {
namespace {

constexpr intptr_t kMaxGroups = 100'000;
constexpr size_t kMaxTensors = 1'000'000;

}  // namespace

TrainedTensors::TrainedTensors(const Walk& walk) {
  for (Object* optimizer : walk.optimizers()) AddOptimizer(optimizer);
  if (!walk.knows_optimizers()) return;
  is_known_ = walk.optimizers().empty() || std::ranges::any_of(walk.found(), [&](const auto& one) {
                const Found& found = one.second;
                return found.is_in_models &&
                       tensors_.contains(walk.models()[found.place].template as<Impl>());
              });
}

void TrainedTensors::AddOptimizer(Object* optimizer) {
  Object* attributes = AttributesOf(optimizer);
  if (attributes == nullptr) return;
  Object* groups = PyDict_GetItemString(attributes, "param_groups");
  if (groups == nullptr || !Is(groups, kIsList)) return;
  const auto* list = reinterpret_cast<const List*>(groups);
  for (intptr_t i = 0; i < std::min(list->count, kMaxGroups); ++i) AddGroup(list->items[i]);
}

void TrainedTensors::AddGroup(Object* group) {
  if (!Is(group, kIsDict)) return;
  Object* tensors = PyDict_GetItemString(group, "params");
  if (tensors == nullptr || !Is(tensors, kIsList)) return;
  const auto* list = reinterpret_cast<const List*>(tensors);
  for (intptr_t i = 0; i < list->count && tensors_.size() < kMaxTensors; ++i) {
    if (Graph::IsTensor(list->items[i]->type)) tensors_.insert(Graph::ImplOf(list->items[i]));
  }
}

}  // namespace vramstow::torch_census
