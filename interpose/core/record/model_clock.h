// ModelClock samples the virtual clock of a simulated GPU (clock=model) for the trace.
//
// Idea: before the trace records an event, it checks whether a sample is due. A sample is due in
// two cases: since the last sample, the clock has advanced by a tenth of a millisecond, or the time
// at which all submitted work will have ended has advanced by that much. At a mark, a sample is due
// if the clock has advanced at all. Without such a clock no sample is ever due, and the check costs
// one load.
//
// Ownership: static storage. Threads: any; if several threads check at once, one of them takes the
// sample. Errors: none. Units: nanoseconds of the GPU's time, bytes.
#ifndef VRAMSTOW_INTERPOSE_CORE_RECORD_MODEL_CLOCK_H_
#define VRAMSTOW_INTERPOSE_CORE_RECORD_MODEL_CLOCK_H_

#include <atomic>
#include <cstdint>

#include "base/typed_event.h"
#include "interpose/core/runtime/core.h"

namespace vramstow {

class ModelClock {
 public:
  constexpr explicit ModelClock(const Driver& driver) : driver_(driver) {}
  ModelClock(const ModelClock&) = delete;
  ModelClock& operator=(const ModelClock&) = delete;

  // Checks whether the driver has such a clock, and forgets earlier samples.
  void Start();
  bool is_there() const { return is_there_.load(std::memory_order_relaxed); }

  // Returns true if a sample is due, and fills in the time and the work up to that time. If
  // `at_mark` is true, a sample is due if the clock has advanced at all.
  bool TakeSample(bool at_mark, ModelClockEvent* sample, ModelWorkEvent* work);
  // Adds time for which work had to wait while memory was moved.
  void NoteHeld(uint64_t nanoseconds) {
    held_ns_.fetch_add(nanoseconds, std::memory_order_relaxed);
  }

 private:
  const Driver& driver_;
  std::atomic<bool> is_there_{false};
  std::atomic<uint64_t> sampled_ns_{0};
  std::atomic<uint64_t> sampled_due_ns_{0};
  std::atomic<uint64_t> held_ns_{0};
};

// Reads the time of a simulated GPU's own clock. Returns false if the driver has none.
bool ReadModelTime(const Driver& driver, uint64_t* time_ns);
// Advances the clock of a simulated GPU as if this thread had been idle for so long.
void PassModelTime(const Driver& driver, uint64_t nanoseconds);

}  // namespace vramstow

#endif  // VRAMSTOW_INTERPOSE_CORE_RECORD_MODEL_CLOCK_H_
