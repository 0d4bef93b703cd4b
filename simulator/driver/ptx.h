// Reads the entry declarations and the variables of PTX text.
//
// Ownership: copies. Threads: pure functions. Errors: text that is not understood is skipped.
// Units: bytes.
#ifndef VRAMSTOW_SIMULATOR_DRIVER_PTX_H_
#define VRAMSTOW_SIMULATOR_DRIVER_PTX_H_

#include <string_view>

#include "simulator/driver/image.h"

namespace vramstow::simulator {

ImageError ParsePtx(std::string_view text, Image* image);

}  // namespace vramstow::simulator

#endif  // VRAMSTOW_SIMULATOR_DRIVER_PTX_H_
