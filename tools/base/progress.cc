#include "tools/base/progress.h"

#include <algorithm>
#include <utility>

namespace vramstow {

Progress& Progress::OfProcess() {
  static Progress progress;
  return progress;
}

void Progress::Begin(std::string what, uint64_t step, uint64_t steps) {
  const std::lock_guard<std::mutex> lock(mutex_);
  what_ = std::move(what);
  step_ = step;
  steps_ = steps;
  part_.store(-1.0, std::memory_order_relaxed);
}

Progress::View Progress::Look() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  View view;
  view.what = what_;
  const double part = part_.load(std::memory_order_relaxed);
  if (steps_ == 0 || (steps_ == 1 && part < 0)) return view;
  const double done = static_cast<double>(step_) + std::max(part, 0.0);
  view.part = std::clamp(done / static_cast<double>(steps_), 0.0, 1.0);
  return view;
}

}  // namespace vramstow
