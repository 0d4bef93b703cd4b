// TrainedTensors: the tensors that the program's optimizers change.
//
// Idea: an optimizer has lists of tensors in its attribute param_groups. What is in none of them is
// not trained, whatever its requires_grad says: an evaluation, or the teacher of a student.
//
// Ownership: addresses only; nothing is followed. Threads: who calls holds the interpreter's lock.
// Errors: an optimizer that keeps its groups in another way adds nothing. Units: none.
#ifndef VRAMSTOW_ADAPTERS_TORCH_CENSUS_TRAINED_TENSORS_H_
#define VRAMSTOW_ADAPTERS_TORCH_CENSUS_TRAINED_TENSORS_H_

#include <unordered_set>

#include "adapters/torch/census/walk.h"

namespace vramstow::torch_census {

class TrainedTensors {
 public:
  // Those of the optimizers that the walk has met.
  explicit TrainedTensors(const Walk& walk);

  // Whether this parameter of a model is trained by nobody. False, too, where it cannot be known:
  // an optimizer may change copies of the parameters, and none of them itself.
  bool IsUntrained(const Impl* parameter) const {
    return is_known_ && !tensors_.contains(parameter);
  }
  // Whether any parameter of a model is known to be trained.
  bool any() const { return is_known_ && !tensors_.empty(); }

 private:
  void AddOptimizer(Object* optimizer);
  void AddGroup(Object* group);

  std::unordered_set<const Impl*> tensors_;
  bool is_known_ = false;
};

}  // namespace vramstow::torch_census

#endif  // VRAMSTOW_ADAPTERS_TORCH_CENSUS_TRAINED_TENSORS_H_
