// FreeBytes: how much memory the device has free, for the trace: when a device is used first, and
// then from time to time.
//
// Idea: an allocation that goes to the driver anyway asks it for the free memory as well, past the
// hooks.
//
// Ownership: none. Threads: any whose current context is of the device. Errors: none; if the driver
// does not answer, the trace has no such fact. Units: bytes, device numbers. Nothing here breaks or
// joins a stream capture.
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

  // Writes the free memory of a device down, if it is used for the first time.
  void Describe(int16_t device) const;
  // The same as an event, if the last one was a second ago or more.
  void Sample(int16_t device) const;

 private:
  bool Ask(size_t* free_bytes, size_t* total_bytes) const;

  const Driver& driver_;
  Trace& trace_;
};

}  // namespace vramstow

#endif  // VRAMSTOW_INTERPOSE_CORE_RECORD_FREE_BYTES_H_
