// Special registers, by name.
#ifndef VRAMSTOW_SIMULATOR_KERNELS_PTX_SPECIAL_H_
#define VRAMSTOW_SIMULATOR_KERNELS_PTX_SPECIAL_H_

#include <string_view>

#include "simulator/kernels/ptx/code.h"

namespace vramstow::simulator::ptx {

// False: there is no special register of this name, or it is not known here.
bool FindSpecial(std::string_view name, Special* special);

}  // namespace vramstow::simulator::ptx

#endif  // VRAMSTOW_SIMULATOR_KERNELS_PTX_SPECIAL_H_
