// ModelClockLog: a bounded number of samples of the simulated GPU's clock.
//
// Idea: a sample comes before the event for which it was taken, and events between two samples came
// within a tenth of a millisecond after the first. So the time of an event is the time of the
// sample before it. If there are more than kMax samples, every other one is dropped.
//
// Ownership: keeps its own copies. Threads: used by one thread at a time. Errors: none. Units:
// nanoseconds, bytes; events are counted from 1.
#ifndef VRAMSTOW_TOOLS_ANALYSIS_FACTS_MODEL_CLOCK_LOG_H_
#define VRAMSTOW_TOOLS_ANALYSIS_FACTS_MODEL_CLOCK_LOG_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "base/typed_event.h"

namespace vramstow {

struct ModelClockSample {
  uint64_t event = 0;
  ModelClockEvent sums;  // since the process began
  ModelWorkEvent work;   // the same; all 0 in traces that do not have it

  // The time at which the GPU has finished all work submitted so far. It is later than the
  // program's time if the program does not wait for its GPU.
  uint64_t card_ns() const { return std::max(sums.model_ns, work.due_ns); }
};

class ModelClockLog {
 public:
  static constexpr size_t kMax = size_t{1} << 18;

  // Adds `event`, a kModelClock or kModelWork event, the `number`th of all.
  void Add(const Event& event, uint64_t number) {
    if (event.kind == EventKind::kModelWork) {
      if (is_kept_) samples_.back().work = ModelWorkEvent::Of(event);
      return;
    }
    is_kept_ = seen_++ % events_per_sample_ == 0;
    if (!is_kept_) return;
    if (samples_.size() == kMax) Halve();
    samples_.push_back({number, ModelClockEvent::Of(event), {}});
  }

  std::vector<ModelClockSample> Take() { return std::move(samples_); }

 private:
  void Halve() {
    for (size_t i = 0; i < samples_.size(); i += 2) samples_[i / 2] = samples_[i];
    samples_.resize(samples_.size() / 2);
    events_per_sample_ *= 2;
  }

  std::vector<ModelClockSample> samples_;
  uint64_t seen_ = 0;
  uint64_t events_per_sample_ = 1;
  bool is_kept_ = false;  // the last one
};

// Returns the last sample before the event, or null if there is none.
inline const ModelClockSample* SampleBefore(const std::vector<ModelClockSample>& samples,
                                            uint64_t event) {
  const auto next = std::ranges::lower_bound(samples, event, {}, &ModelClockSample::event);
  return next == samples.begin() ? nullptr : &*(next - 1);
}

// Returns a sum of the work that was submitted to the GPU up to an event. Between two samples it is
// interpolated over the events.
inline double WorkAt(const std::vector<ModelClockSample>& samples, uint64_t event,
                     uint64_t ModelWorkEvent::*sum) {
  const ModelClockSample* before = SampleBefore(samples, event);
  if (before == nullptr) return 0;
  const auto at_before = static_cast<double>(before->work.*sum);
  if (before == &samples.back()) return at_before;
  const ModelClockSample* after = before + 1;
  const double share = static_cast<double>(event - before->event) /
                       static_cast<double>(after->event - before->event);
  return at_before + share * static_cast<double>(after->work.*sum - before->work.*sum);
}

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_ANALYSIS_FACTS_MODEL_CLOCK_LOG_H_
