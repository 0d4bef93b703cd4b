// ModelClockLog: the samples of the simulated card's clock, in a bounded number.
//
// Idea: a sample stands before the event that it was taken for, and events between two samples came
// within a tenth of a millisecond behind the first, by the program's time and by the card's. So the
// time of an event is that of the sample before it. Where there are more than kMax samples, every
// other one is left out.
//
// Ownership: copies. Threads: one at a time. Errors: none. Units: nanoseconds, bytes, events
// counted from 1.
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

  // When the card has done what it was given up to here. A program that does not wait for its card
  // is ahead of it.
  uint64_t card_ns() const { return std::max(sums.model_ns, work.due_ns); }
};

class ModelClockLog {
 public:
  static constexpr size_t kMax = size_t{1} << 18;

  // `event`: a kModelClock or a kModelWork, the `number`th of all.
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

// The last sample before the event; null: there is none.
inline const ModelClockSample* SampleBefore(const std::vector<ModelClockSample>& samples,
                                            uint64_t event) {
  const auto next = std::ranges::lower_bound(samples, event, {}, &ModelClockSample::event);
  return next == samples.begin() ? nullptr : &*(next - 1);
}

// A sum of the work that the card was given up to an event; between two samples it grows evenly
// with events.
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
