#include "tools/analysis/explain/model_steps.h"

#include <cstddef>

namespace vramstow {

std::vector<ModelStep> FindModelSteps(const Detail& detail, const IterationsFacts& iterations) {
  constexpr size_t kWarmUp = 2;
  std::vector<ModelStep> steps;
  for (size_t i = kWarmUp; i < iterations.list.size(); ++i) {
    const IterationFacts& one = iterations.list[i];
    // The last iteration may be cut off.
    if (one.end_event > detail.events) continue;
    const ModelClockSample* begin = SampleBefore(detail.model_clock, one.begin_event);
    if (begin == nullptr) continue;
    const ModelClockSample& end = *SampleBefore(detail.model_clock, one.end_event);
    ModelStep step;
    step.iteration = &one;
    step.has_sample = &end != begin;
    step.sums = {end.card_ns() - begin->card_ns(),
                 end.sums.link_read_bytes - begin->sums.link_read_bytes,
                 end.sums.out_bytes - begin->sums.out_bytes,
                 end.sums.in_bytes - begin->sums.in_bytes, end.sums.held_ns - begin->sums.held_ns};
    step.work = {end.work.work_ns - begin->work.work_ns, end.work.operators - begin->work.operators,
                 end.work.link_ns - begin->work.link_ns};
    steps.push_back(step);
  }
  return steps;
}

}  // namespace vramstow
