// CUPTI's times: the host's clock, or the client's own; and where the virtual times of the device
// lie on it.
//
// Idea: the host's times are real, the device's are virtual. Virtual time plus an offset is put on
// the host's clock; the offset only grows, so that work is never before the call that queued it,
// and the device's order and durations stay what they are. Virtual time may run ahead of the
// host's: then the host is made to wait for as long as the device would have taken (Pace), so that
// what has ended for the program has ended on the clock, too.
//
// A client's own time stamps (cuptiActivityRegisterTimestampCallback) have a unit that is not
// known: the host's nanoseconds are put on them by a line through what was seen of both.
//
// Ownership: none. Threads: any. Errors: none. Units: nanoseconds since 1970; "client": the
// client's.
#ifndef VRAMSTOW_SIMULATOR_RUNTIME_LIBRARIES_CUPTI_CLOCK_H_
#define VRAMSTOW_SIMULATOR_RUNTIME_LIBRARIES_CUPTI_CLOCK_H_

#include <cstdint>

#include "base/mutex.h"

namespace vramstow::simulator {

class CuptiClock {
 public:
  using Callback = uint64_t (*)();

  void UseClient(Callback callback);

  // Now, in the client's unit.
  uint64_t Now();
  // The client's time of a moment of the host's.
  uint64_t ToClient(int64_t host_ns);

  // What is to be added to virtual times of work that is queued at `virtual_ns`, that is now.
  int64_t OffsetAt(uint64_t virtual_ns);
  // Sleeps until the host has arrived where the device is.
  void Pace(uint64_t virtual_ns);

 private:
  struct Pair {
    int64_t host_ns = 0;
    uint64_t client = 0;
  };

  Mutex mutex_;
  Callback callback_ VRAMSTOW_GUARDED_BY(mutex_) = nullptr;
  Pair first_ VRAMSTOW_GUARDED_BY(mutex_);
  Pair latest_ VRAMSTOW_GUARDED_BY(mutex_);
  int64_t offset_ns_ VRAMSTOW_GUARDED_BY(mutex_) = 0;
  bool has_offset_ VRAMSTOW_GUARDED_BY(mutex_) = false;
};

CuptiClock& TheClock();

}  // namespace vramstow::simulator

#endif  // VRAMSTOW_SIMULATOR_RUNTIME_LIBRARIES_CUPTI_CLOCK_H_
