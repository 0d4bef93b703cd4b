// LookaheadBudget: limits how many steps of look-ahead may be taken: a fixed number for each
// request and an initial allowance. So look-ahead costs a bounded part of the time in any job.
//
// Ownership: none. Threads: the heap's lock. Errors: none. Units: steps; requests.
#ifndef VRAMSTOW_ALLOCATOR_PLACEMENT_LOOKAHEAD_BUDGET_H_
#define VRAMSTOW_ALLOCATOR_PLACEMENT_LOOKAHEAD_BUDGET_H_

#include <cstdint>

namespace vramstow {

class LookaheadBudget {
 public:
  // Takes `steps` from the budget, where `requests` is the total number of requests so far. Returns
  // false, and takes nothing, if the budget is too small.
  bool Spend(uint64_t steps, uint64_t requests) {
    steps_ += (requests - counted_at_) * kStepsEach;
    counted_at_ = requests;
    if (steps_ > kMaxSteps) steps_ = kMaxSteps;
    if (steps_ < steps) return false;
    steps_ -= steps;
    return true;
  }

 private:
  static constexpr uint64_t kStepsEach = 4;
  static constexpr uint64_t kMaxSteps = uint64_t{1} << 24;

  uint64_t steps_ = kMaxSteps;
  uint64_t counted_at_ = 0;  // the request at which `steps_` was counted
};

}  // namespace vramstow

#endif  // VRAMSTOW_ALLOCATOR_PLACEMENT_LOOKAHEAD_BUDGET_H_
