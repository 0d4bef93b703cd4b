// Implements CUDA arrays, which are plain pitched memory behind a handle here. Textures are not
// simulated.
//
// Ownership: the State has a table of arrays; an array owns its memory. Threads: the caller holds
// the driver's lock. Errors: returns null for a handle that is not an array. Units: bytes for
// pitches, elements for sizes.
#ifndef VRAMSTOW_SIMULATOR_DRIVER_ARRAY_H_
#define VRAMSTOW_SIMULATOR_DRIVER_ARRAY_H_

#include "simulator/driver/call.h"

namespace vramstow::simulator {

struct Array {
  uint64_t address = 0;
  uint64_t pitch = 0;
  uint64_t height = 0;  // rows of a slice, at least 1
  uint64_t bytes = 0;
  Context* owner = nullptr;
  CUDA_ARRAY3D_DESCRIPTOR shape = {};
};

Array* FindArray(const void* handle);
// Removes the arrays of a context that ends. Their memory is freed with the context's blocks.
void RemoveArraysOf(const Context* context);
uint64_t BytesOfElement(const Array& array);

}  // namespace vramstow::simulator

#endif  // VRAMSTOW_SIMULATOR_DRIVER_ARRAY_H_
