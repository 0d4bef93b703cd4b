// What a card says of itself, by CUdevice_attribute.
#ifndef VRAMSTOW_SIMULATOR_DRIVER_ATTRIBUTES_H_
#define VRAMSTOW_SIMULATOR_DRIVER_ATTRIBUTES_H_

#include <cuda.h>

#include "simulator/device/spec.h"

namespace vramstow::simulator {

// False: there is no such attribute.
bool DeviceAttribute(const Spec& spec, int device, int attribute, int* value);

}  // namespace vramstow::simulator

#endif  // VRAMSTOW_SIMULATOR_DRIVER_ATTRIBUTES_H_
