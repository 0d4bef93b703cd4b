// HolderDescriber describes a chain of holders in words for the user.
//
// Idea: a description looks like "train: hist[3].grad_fn → saved by AddmmBackward0". A step is
// examined only when its chain is reported. Then its key, index or variable is looked up.
// Attributes are read by their key, never by getattr, so no code of the program runs.
//
// Ownership: refers to a walk. Threads: one, with the interpreter's lock. Errors: a step that
// cannot be described becomes "…". Units: none.
#ifndef VRAMSTOW_ADAPTERS_TORCH_CENSUS_HOLDER_DESCRIBER_H_
#define VRAMSTOW_ADAPTERS_TORCH_CENSUS_HOLDER_DESCRIBER_H_

#include <cstdint>
#include <string>
#include <vector>

#include "adapters/torch/census/walk.h"

namespace vramstow::torch_census {

// The role of a tensor in the program, with the values VRAMSTOW_ROLE_… of framework.h.
enum class Role : int32_t { kOther, kParameter, kBuffer, kGradient, kOptimizerState, kSaved };

struct HolderDescription {
  std::string chain;
  Role role = Role::kOther;
  bool evaluates = false;  // a parameter, and its module is in eval()
};

class HolderDescriber {
 public:
  explicit HolderDescriber(const Walk& walk) : walk_(walk) {}
  HolderDescription Describe(const Found& found) const;

 private:
  class Chain;
  const Walk& walk_;
};

}  // namespace vramstow::torch_census

#endif  // VRAMSTOW_ADAPTERS_TORCH_CENSUS_HOLDER_DESCRIBER_H_
