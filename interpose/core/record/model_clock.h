// ModelClock: samples of a simulated card's own clock (clock=model), for the trace.
//
// Idea: the trace asks whether a sample is due before it records an event. One is due where a tenth
// of a millisecond of the card's time has passed since the last one, and at each mark where any
// has. Without such a clock nothing is ever due, and to ask costs one load.
//
// Ownership: static storage. Threads: any; of several at once one takes the sample. Errors: none.
// Units: nanoseconds of the card's time, bytes.
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

  // Looks whether there is such a clock. Samples begin anew.
  void Start();
  bool is_there() const { return is_there_.load(std::memory_order_relaxed); }

  // True: a sample is due, and these are the time and the work up to it. `at_mark`: also where less
  // time has passed.
  bool TakeSample(bool at_mark, ModelClockEvent* sample, ModelWorkEvent* work);
  // Work was held up so long while memory moved.
  void NoteHeld(uint64_t nanoseconds) {
    held_ns_.fetch_add(nanoseconds, std::memory_order_relaxed);
  }

 private:
  const Driver& driver_;
  std::atomic<bool> is_there_{false};
  std::atomic<uint64_t> sampled_ns_{0};
  std::atomic<uint64_t> held_ns_{0};
};

// The time of a simulated card's own clock. False: it has none.
bool ReadModelTime(const Driver& driver, uint64_t* time_ns);
// By that clock, this thread does nothing for so long.
void PassModelTime(const Driver& driver, uint64_t nanoseconds);

}  // namespace vramstow

#endif  // VRAMSTOW_INTERPOSE_CORE_RECORD_MODEL_CLOCK_H_
