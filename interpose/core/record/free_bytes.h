// How much memory the device has free, for the trace: when it is used first, and from time to time.
//
// Idea: the driver is asked, past the hooks, on the way of an allocation that goes to it anyway.
//
// Ownership: none. Threads: any whose current context is of the device. Errors: none; a driver that
// does not say leaves a trace without. Units: bytes, device numbers. Nothing here breaks or joins a
// stream capture.
#ifndef VRAMSTOW_INTERPOSE_CORE_RECORD_FREE_BYTES_H_
#define VRAMSTOW_INTERPOSE_CORE_RECORD_FREE_BYTES_H_

#include <cstdint>

namespace vramstow {

// Writes the free memory of a device down, if it is used for the first time.
void DescribeFreeBytes(int16_t device);
// The same as an event, if the last one was a second ago or more.
void SampleFreeBytes(int16_t device);

}  // namespace vramstow

#endif  // VRAMSTOW_INTERPOSE_CORE_RECORD_FREE_BYTES_H_
