// What a card says of itself, by CUdevice_attribute.
//
// Ownership: none. Threads: pure functions over constants. Errors: false for an attribute that is
// not known. Units: as cuda.h has them.
#ifndef VRAMSTOW_SIMULATOR_DRIVER_ATTRIBUTES_H_
#define VRAMSTOW_SIMULATOR_DRIVER_ATTRIBUTES_H_

#include <cuda.h>

#include "simulator/device/spec.h"

namespace vramstow::simulator {

// `device` is a number as the process sees it, `card` one of the machine.

// False: there is no such attribute.
bool DeviceAttribute(const Spec& spec, int device, int attribute, int* value);

// The same for the same card in every process, different for each: what a UUID must be.
CUuuid CardUuid(const Spec& spec, int card);

// "0000:01:00.0" for the first card; at most 13 bytes.
void PciBusId(int card, char* text, size_t size);

}  // namespace vramstow::simulator

#endif  // VRAMSTOW_SIMULATOR_DRIVER_ATTRIBUTES_H_
