// TrainedTensors finds the tensors that the program's optimizers change.
//
// Idea: an optimizer has lists of tensors in its attribute param_groups. A tensor in none of these
// lists is not trained, whatever its requires_grad says. Such tensors occur in an evaluation, or in
// the teacher model when a student model is trained.
//
// Ownership: addresses only; nothing is dereferenced. Threads: the caller holds the interpreter's
// lock. Errors: an optimizer that stores its groups in another way adds nothing. Units: none.
#ifndef VRAMSTOW_ADAPTERS_TORCH_CENSUS_TRAINED_TENSORS_H_
#define VRAMSTOW_ADAPTERS_TORCH_CENSUS_TRAINED_TENSORS_H_

#include <unordered_set>

#include "adapters/torch/census/walk.h"

namespace vramstow::torch_census {

class TrainedTensors {
 public:
  // Collects the tensors of the optimizers that the walk has found.
  explicit TrainedTensors(const Walk& walk);

  // True if no optimizer trains this parameter of a model. Also false if that cannot be determined:
  // an optimizer may change copies of the parameters instead of the parameters themselves.
  bool IsUntrained(const Impl* parameter) const {
    return is_known_ && !tensors_.contains(parameter);
  }
  // True if an optimizer trains any parameter of a model.
  bool any() const { return is_known_ && !tensors_.empty(); }

 private:
  void AddOptimizer(Object* optimizer);
  void AddGroup(Object* group);

  std::unordered_set<const Impl*> tensors_;
  bool is_known_ = false;
};

}  // namespace vramstow::torch_census

#endif  // VRAMSTOW_ADAPTERS_TORCH_CENSUS_TRAINED_TENSORS_H_
