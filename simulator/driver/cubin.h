// Reads cubins, which are ELF files of NVIDIA's machine: headers, symbols and .nv.info records, but
// no instructions.
//
// Ownership: copies names and retains nothing of the image. Threads: pure functions. Errors:
// returns false for bytes that are not a cubin, or are truncated. Units: bytes.
#ifndef VRAMSTOW_SIMULATOR_DRIVER_CUBIN_H_
#define VRAMSTOW_SIMULATOR_DRIVER_CUBIN_H_

#include "simulator/driver/image.h"
#include "simulator/driver/image_bytes.h"

namespace vramstow::simulator {

bool IsElf(const ImageBytes& bytes);
ImageError ParseCubin(const ImageBytes& bytes, Image* image);

}  // namespace vramstow::simulator

#endif  // VRAMSTOW_SIMULATOR_DRIVER_CUBIN_H_
