#include <algorithm>
#include <vector>

#include "tools/analysis/explain/explain.h"
#include "tools/analysis/explain/model_steps.h"

namespace vramstow {
namespace {

uint64_t MedianOf(const std::vector<ModelStep>& steps, uint64_t ModelClockEvent::*member) {
  std::vector<uint64_t> values;
  for (const ModelStep& step : steps) values.push_back(step.sums.*member);
  std::ranges::sort(values);
  return values[(values.size() - 1) / 2];
}

uint64_t MeanOf(const std::vector<ModelStep>& steps, uint64_t ModelClockEvent::*member) {
  uint64_t sum = 0;
  for (const ModelStep& step : steps) sum += step.sums.*member;
  return sum / steps.size();
}

double Seconds(uint64_t nanoseconds) { return static_cast<double>(nanoseconds) / 1e9; }

// Fills in the means over these iterations.
void FindMeans(const std::vector<ModelStep>& steps, ModelClockFacts* facts) {
  facts->mean_seconds = Seconds(MeanOf(steps, &ModelClockEvent::model_ns));
  facts->mean_wait_seconds = Seconds(MeanOf(steps, &ModelClockEvent::held_ns));
  facts->mean_link_read_bytes = MeanOf(steps, &ModelClockEvent::link_read_bytes);
  facts->mean_out_bytes = MeanOf(steps, &ModelClockEvent::out_bytes);
  facts->mean_in_bytes = MeanOf(steps, &ModelClockEvent::in_bytes);
}

}  // namespace

ModelClockFacts FindModelClock(const Detail& detail, const IterationsFacts& iterations) {
  ModelClockFacts facts;
  std::vector<ModelStep> steps = FindModelSteps(detail, iterations);
  if (!steps.empty()) FindMeans(steps, &facts);
  // An iteration without a sample of its own counts for the mean only.
  std::erase_if(steps, [](const ModelStep& step) { return !step.has_sample; });
  if (steps.empty()) return {};
  std::ranges::stable_sort(steps, {}, [](const ModelStep& step) { return step.sums.model_ns; });
  const ModelStep& middle = steps[(steps.size() - 1) / 2];
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
