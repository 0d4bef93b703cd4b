// CuptiClock converts times for CUPTI: the host's clock, the client's own clock, and the virtual
// times of the device.
//
// Idea: the host's times are real, the device's are virtual. A virtual time plus an offset is a
// time of the host's clock. The offset only grows, so that work is never before the call that
// queued it, and the device's order and durations do not change. Virtual time may run ahead of the
// host's clock. Then the host waits for as long as the device would have taken (Pace). So work that
// has ended for the program has ended on the host's clock, too.
//
// The unit of a client's own time stamps (cuptiActivityRegisterTimestampCallback) is not known. So
// the host's nanoseconds are converted to the client's unit linearly, from two pairs of observed
// times.
//
// Ownership: none. Threads: any. Errors: none. Units: nanoseconds since 1970; "client" means the
// client's unit.
#ifndef VRAMSTOW_SIMULATOR_RUNTIME_LIBRARIES_CUPTI_CUPTI_CLOCK_H_
#define VRAMSTOW_SIMULATOR_RUNTIME_LIBRARIES_CUPTI_CUPTI_CLOCK_H_

#include <cstdint>

#include "base/mutex.h"

namespace vramstow::simulator {

class CuptiClock {
 public:
  using Callback = uint64_t (*)();

  void UseClient(Callback callback);

  // Returns the current time in the client's unit.
  uint64_t Now();
  // Converts a time of the host to the client's time.
  uint64_t ToClient(int64_t host_ns);

  // Returns the offset to add to the virtual times of work that is queued now, at `virtual_ns`.
  int64_t OffsetAt(uint64_t virtual_ns);
  // Sleeps until the host's clock has reached the device's virtual time.
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

#endif  // VRAMSTOW_SIMULATOR_RUNTIME_LIBRARIES_CUPTI_CUPTI_CLOCK_H_
