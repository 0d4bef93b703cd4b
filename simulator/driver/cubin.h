// Cubins: ELF files of NVIDIA's machine. Headers, symbols and .nv.info records, no instructions.
//
// Ownership: copies of names; nothing of the image is kept. Threads: pure functions. Errors: false
// for what is no cubin, or is cut off. Units: bytes.
#ifndef VRAMSTOW_SIMULATOR_DRIVER_CUBIN_H_
#define VRAMSTOW_SIMULATOR_DRIVER_CUBIN_H_

#include "simulator/driver/image.h"
#include "simulator/driver/image_bytes.h"

namespace vramstow::simulator {

bool IsElf(const ImageBytes& bytes);
ImageError ParseCubin(const ImageBytes& bytes, Image* image);

}  // namespace vramstow::simulator

#endif  // VRAMSTOW_SIMULATOR_DRIVER_CUBIN_H_
