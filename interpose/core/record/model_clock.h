// ModelClock samples a simulated GPU's own clock (clock=model) for the trace.
//
// Idea: the trace asks whether a sample is due before it records an event. A sample is due if,
// since the last one, the clock has advanced by a tenth of a millisecond, or the moment at which
// all submitted work will have ended has. At a mark it is due if any time has passed. Without such
// a clock no sample is ever due, and the question costs one load.
//
// Ownership: static storage. Threads: any; if several ask at once, one of them takes the sample.
// Errors: none. Units: nanoseconds of the GPU's time, bytes.
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

  // Returns true if a sample is due, with the time and the work up to it. `at_mark` makes it due
  // after any time.
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
// Advances that clock as if this thread had been idle for so long.
void PassModelTime(const Driver& driver, uint64_t nanoseconds);

}  // namespace vramstow

#endif  // VRAMSTOW_INTERPOSE_CORE_RECORD_MODEL_CLOCK_H_
