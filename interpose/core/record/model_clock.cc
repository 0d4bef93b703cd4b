#include "interpose/core/record/model_clock.h"

#include "interpose/core/runtime/driver.h"

namespace vramstow {

void ModelClock::Start() {
  Driver::ModelClock clock = {};
  sampled_ns_.store(0, std::memory_order_relaxed);
  sampled_due_ns_.store(0, std::memory_order_relaxed);
  is_there_.store(driver_.ReadModelClock(&clock), std::memory_order_relaxed);
}

bool ModelClock::TakeSample(bool at_mark, ModelClockEvent* sample, ModelWorkEvent* work) {
  constexpr uint64_t kStepNs = 100'000;
  Driver::ModelClock clock = {};
  if (!driver_.ReadModelClock(&clock)) return false;
  uint64_t last = sampled_ns_.load(std::memory_order_relaxed);
  // Another thread may have taken a sample with a later time.
  if (clock.now_ns <= last) return false;
  const uint64_t last_due = sampled_due_ns_.load(std::memory_order_relaxed);
  const bool has_passed = clock.now_ns - last >= kStepNs || clock.due_ns >= last_due + kStepNs;
  if (!at_mark && !has_passed) return false;
  if (!sampled_ns_.compare_exchange_strong(last, clock.now_ns, std::memory_order_relaxed)) {
    return false;
  }
  sampled_due_ns_.store(clock.due_ns, std::memory_order_relaxed);
  *sample = {clock.now_ns, clock.link_read_bytes, clock.to_host_bytes, clock.to_device_bytes,
             held_ns_.load(std::memory_order_relaxed)};
  *work = {clock.work_ns, clock.operators, clock.link_work_ns, clock.due_ns};
  return true;
}

bool ReadModelTime(const Driver& driver, uint64_t* time_ns) {
  Driver::ModelClock clock = {};
  if (!driver.ReadModelClock(&clock)) return false;
  *time_ns = clock.now_ns;
  return true;
}

void PassModelTime(const Driver& driver, uint64_t nanoseconds) {
  driver.PassModelTime(nanoseconds);
}

}  // namespace vramstow
