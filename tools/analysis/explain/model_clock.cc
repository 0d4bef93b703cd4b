#include <algorithm>
#include <functional>
#include <optional>
#include <vector>

#include "tools/analysis/explain/explain.h"

namespace vramstow {
namespace {

// The cost of one iteration.
struct Step {
  const IterationFacts* iteration = nullptr;
  ModelClockEvent sums;
  ModelWorkEvent work;
};

std::optional<Step> StepOf(const Detail& detail, const IterationFacts& iteration) {
  const ModelClockSample* begin = SampleBefore(detail.model_clock, iteration.begin_event);
  const ModelClockSample* end = SampleBefore(detail.model_clock, iteration.end_event);
  if (begin == nullptr || end == begin) return std::nullopt;
  Step step;
  step.iteration = &iteration;
  step.sums = {end->card_ns() - begin->card_ns(),
               end->sums.link_read_bytes - begin->sums.link_read_bytes,
               end->sums.out_bytes - begin->sums.out_bytes,
               end->sums.in_bytes - begin->sums.in_bytes, end->sums.held_ns - begin->sums.held_ns};
  step.work = {end->work.work_ns - begin->work.work_ns, end->work.operators - begin->work.operators,
               end->work.link_ns - begin->work.link_ns};
  return step;
}

uint64_t MedianOf(const std::vector<Step>& steps, uint64_t ModelClockEvent::*member) {
  std::vector<uint64_t> values;
  for (const Step& step : steps) values.push_back(step.sums.*member);
  std::ranges::sort(values);
  return values[(values.size() - 1) / 2];
}

double Seconds(uint64_t nanoseconds) { return static_cast<double>(nanoseconds) / 1e9; }

}  // namespace

ModelClockFacts FindModelClock(const Detail& detail, const IterationsFacts& iterations) {
  constexpr size_t kWarmUp = 2;  // the first iterations allocate what the others reuse
  ModelClockFacts facts;
  if (detail.model_clock.empty()) return facts;
  std::vector<Step> steps;
  for (size_t i = kWarmUp; i < iterations.list.size(); ++i) {
    // The last iteration may be cut off.
    if (iterations.list[i].end_event > detail.events) continue;
    if (const auto step = StepOf(detail, iterations.list[i])) steps.push_back(*step);
  }
  if (steps.empty()) return facts;
  std::ranges::stable_sort(steps, {}, [](const Step& step) { return step.sums.model_ns; });
  const Step& middle = steps[(steps.size() - 1) / 2];
  facts.iterations = steps.size();
  facts.step_seconds = Seconds(middle.sums.model_ns);
  facts.wait_seconds = Seconds(MedianOf(steps, &ModelClockEvent::held_ns));
  facts.link_read_bytes = MedianOf(steps, &ModelClockEvent::link_read_bytes);
  facts.out_bytes = MedianOf(steps, &ModelClockEvent::out_bytes);
  facts.in_bytes = MedianOf(steps, &ModelClockEvent::in_bytes);
  facts.work_seconds = Seconds(middle.work.work_ns);
  facts.operators = middle.work.operators;
  facts.link_seconds = Seconds(middle.work.link_ns);
  facts.begin_event = middle.iteration->begin_event;
  facts.end_event = middle.iteration->end_event;
  return facts;
}

}  // namespace vramstow
