// LevelLog: the levels over the events, in a bounded number of steps.
//
// Idea: the steps are counted in events and not in time (as in Timeline), so a busy millisecond has
// as many steps as it needs, and the levels of an iteration are exact. Up to kMax events, each
// event has a step of its own. Then pairs of steps are joined, and a joined step has the higher
// value.
//
// Ownership: keeps its own copies. Threads: used by one thread at a time. Errors: none. Units:
// bytes, nanoseconds. Cost: a few stores for each event.
#ifndef VRAMSTOW_TOOLS_ANALYSIS_FACTS_LEVEL_LOG_H_
#define VRAMSTOW_TOOLS_ANALYSIS_FACTS_LEVEL_LOG_H_

#include <algorithm>
#include <cstdint>
#include <vector>

namespace vramstow {

struct LevelStep {
  uint64_t time_ns = 0;    // of its last event
  uint64_t allocated = 0;  // the highest within the step
  uint64_t reserved = 0;   // the highest
  uint64_t requested = 0;  // at its end
  uint64_t last_allocated = 0;
};

class LevelLog {
 public:
  static constexpr size_t kMax = size_t{1} << 19;

  // Adds the levels after the next event.
  void Note(uint64_t time_ns, uint64_t allocated, uint64_t reserved, uint64_t requested) {
    if (in_step_ == 0) {
      if (steps_.size() == kMax) Halve();
      steps_.emplace_back();
    }
    LevelStep& step = steps_.back();
    step.time_ns = time_ns;
    step.allocated = std::max(step.allocated, allocated);
    step.reserved = std::max(step.reserved, reserved);
    step.requested = requested;
    step.last_allocated = allocated;
    if (++in_step_ == events_per_step_) in_step_ = 0;
  }

  uint64_t events_per_step() const { return events_per_step_; }
  std::vector<LevelStep> Take() { return std::move(steps_); }

 private:
  void Halve() {
    for (size_t i = 0; i + 1 < steps_.size(); i += 2) {
      LevelStep joined = steps_[i + 1];
      joined.allocated = std::max(joined.allocated, steps_[i].allocated);
      joined.reserved = std::max(joined.reserved, steps_[i].reserved);
      steps_[i / 2] = joined;
    }
    steps_.resize(steps_.size() / 2);
    events_per_step_ *= 2;
  }

  std::vector<LevelStep> steps_;
  uint64_t events_per_step_ = 1;
  uint64_t in_step_ = 0;
};

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_ANALYSIS_FACTS_LEVEL_LOG_H_
