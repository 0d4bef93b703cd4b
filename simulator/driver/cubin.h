// Cubins: ELF files of NVIDIA's machine. Headers, symbols and .nv.info records, no instructions.
#ifndef VRAMSTOW_SIMULATOR_DRIVER_CUBIN_H_
#define VRAMSTOW_SIMULATOR_DRIVER_CUBIN_H_

#include "simulator/driver/image.h"
#include "simulator/driver/image_bytes.h"

namespace vramstow::simulator {

bool IsElf(const ImageBytes& bytes);
ImageError ParseCubin(const ImageBytes& bytes, Image* image);

}  // namespace vramstow::simulator

#endif  // VRAMSTOW_SIMULATOR_DRIVER_CUBIN_H_
