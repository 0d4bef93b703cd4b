// How much memory the device has free, for the trace: when it is used first, and from time to time.
//
// Idea: the driver is asked, past the hooks, on the way of an allocation that goes to it anyway.
//
// Ownership: none. Threads: any whose current context is of the device. Errors: none; a driver that
// does not say leaves a trace without. Units: bytes, device numbers. Nothing here breaks or joins a
// stream capture.
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
