// CUDA arrays: here plain pitched memory behind a handle. Textures are not simulated.
//
// Ownership: the table of arrays, in the State; an array owns its memory. Threads: the driver's
// lock. Errors: null for what is no array. Units: bytes for pitches, elements for sizes.
#ifndef VRAMSTOW_SIMULATOR_DRIVER_ARRAY_H_
#define VRAMSTOW_SIMULATOR_DRIVER_ARRAY_H_

#include "simulator/driver/call.h"

namespace vramstow::simulator {

struct Array {
  uint64_t address = 0;
  uint64_t pitch = 0;
  uint64_t height = 0;  // rows of a slice, 1 at least
  uint64_t bytes = 0;
  int device = 0;
  CUDA_ARRAY3D_DESCRIPTOR shape = {};
};

Array* FindArray(const void* handle);
uint64_t BytesOfElement(const Array& array);

}  // namespace vramstow::simulator

#endif  // VRAMSTOW_SIMULATOR_DRIVER_ARRAY_H_
