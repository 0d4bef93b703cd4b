// Converts the driver's descriptions of multi-dimensional copies to a CopyBox.
//
// Ownership: values. Threads: pure functions. Errors: returns a CUresult. Units: bytes.
#ifndef VRAMSTOW_SIMULATOR_DRIVER_COPY_SHAPES_H_
#define VRAMSTOW_SIMULATOR_DRIVER_COPY_SHAPES_H_

#include "simulator/driver/copy.h"

namespace vramstow::simulator {

// Returns false if a side is missing or its pitch is too small.
bool ReadShape(const CUDA_MEMCPY3D& shape, CopyBox* box);
CUDA_MEMCPY3D Widen(const CUDA_MEMCPY2D& flat);

}  // namespace vramstow::simulator

#endif  // VRAMSTOW_SIMULATOR_DRIVER_COPY_SHAPES_H_
