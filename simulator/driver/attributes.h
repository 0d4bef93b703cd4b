// Returns what a GPU reports for each CUdevice_attribute.
//
// Ownership: none. Threads: pure functions over constants. Errors: returns false for an unknown
// attribute. Units: as in cuda.h.
#ifndef VRAMSTOW_SIMULATOR_DRIVER_ATTRIBUTES_H_
#define VRAMSTOW_SIMULATOR_DRIVER_ATTRIBUTES_H_

#include <cuda.h>

#include "simulator/device/spec.h"

namespace vramstow::simulator {

// In the functions below `device` is a number that the process sees, and `card` a number of the
// machine.

// Returns false if the attribute does not exist.
bool DeviceAttribute(const Spec& spec, int device, int attribute, int* value);

// Returns a UUID that is the same for a GPU in every process, and different for each GPU.
CUuuid CardUuid(const Spec& spec, int card);

// Writes "0000:01:00.0" for the first GPU; a bus id has at most 13 bytes.
void PciBusId(int card, char* text, size_t size);

}  // namespace vramstow::simulator

#endif  // VRAMSTOW_SIMULATOR_DRIVER_ATTRIBUTES_H_
