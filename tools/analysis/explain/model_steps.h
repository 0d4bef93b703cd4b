// ModelSteps: the iterations by the clock that the simulated GPU computes (option clock=model).
//
// Idea: the difference between the samples of the clock before the begin and before the end of an
// iteration is the cost of this iteration.
//
// Ownership: the results refer to the iterations, which outlive them. Threads: pure functions,
// callable from any thread. Errors: none. Units: nanoseconds, bytes.
#ifndef VRAMSTOW_TOOLS_ANALYSIS_EXPLAIN_MODEL_STEPS_H_
#define VRAMSTOW_TOOLS_ANALYSIS_EXPLAIN_MODEL_STEPS_H_

#include <vector>

#include "tools/analysis/facts/detail.h"
#include "tools/analysis/facts/iteration_facts.h"

namespace vramstow {

// The cost of one iteration.
struct ModelStep {
  const IterationFacts* iteration = nullptr;
  bool has_sample = false;  // false if no sample was taken in it; then all sums are 0
  ModelClockEvent sums;
  ModelWorkEvent work;
};

// Returns the complete iterations from the third on, because the first ones allocate what the
// others reuse. Returns none without such a clock.
std::vector<ModelStep> FindModelSteps(const Detail& detail, const IterationsFacts& iterations);

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_ANALYSIS_EXPLAIN_MODEL_STEPS_H_
