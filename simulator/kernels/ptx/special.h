// Finds special registers by name.
#ifndef VRAMSTOW_SIMULATOR_KERNELS_PTX_SPECIAL_H_
#define VRAMSTOW_SIMULATOR_KERNELS_PTX_SPECIAL_H_

#include <string_view>

#include "simulator/kernels/ptx/code.h"

namespace vramstow::simulator::ptx {

// Returns false if the special register does not exist or is not supported.
bool FindSpecial(std::string_view name, Special* special);

}  // namespace vramstow::simulator::ptx

#endif  // VRAMSTOW_SIMULATOR_KERNELS_PTX_SPECIAL_H_
