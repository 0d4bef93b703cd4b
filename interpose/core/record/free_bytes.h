// FreeBytes records the free memory of a device in the trace: when a device is first used, and then
// from time to time.
//
// Idea: before an allocation that calls the driver anyway, the driver is also asked for the free
// memory. This call goes to the driver directly, not through the hooks.
//
// Ownership: none. Threads: any whose current context belongs to the device. Errors: none; if the
// driver does not answer, the trace has no such fact. Units: bytes, device numbers. No call here
// invalidates or joins a stream capture.
#ifndef VRAMSTOW_INTERPOSE_CORE_RECORD_FREE_BYTES_H_
#define VRAMSTOW_INTERPOSE_CORE_RECORD_FREE_BYTES_H_

#include <cstddef>
#include <cstdint>

#include "interpose/core/runtime/core.h"

namespace vramstow {

class FreeBytes {
 public:
  constexpr FreeBytes(const Driver& driver, Trace& trace) : driver_(driver), trace_(trace) {}
  FreeBytes(const FreeBytes&) = delete;
  FreeBytes& operator=(const FreeBytes&) = delete;

  // Records the free memory of a device as a fact, if the device is used for the first time.
  void Describe(int16_t device) const;
  // Records the free memory as an event, at most once a second for each device.
  void Sample(int16_t device) const;
  // Records the free memory as an event, whenever it was recorded last.
  void Record(int16_t device) const;

 private:
  bool Ask(size_t* free_bytes, size_t* total_bytes) const;

  const Driver& driver_;
  Trace& trace_;
};

}  // namespace vramstow

#endif  // VRAMSTOW_INTERPOSE_CORE_RECORD_FREE_BYTES_H_
