// Declares the families of kernels that are known by name, one file for each.
//
// Ownership: the caller owns the results. Threads: no state. Errors: returns null. Units: none.
#ifndef VRAMSTOW_SIMULATOR_KERNELS_NAMED_KERNELS_H_
#define VRAMSTOW_SIMULATOR_KERNELS_NAMED_KERNELS_H_

#include <memory>
#include <string_view>

#include "simulator/kernels/named/emulation.h"
#include "simulator/kernels/named/name.h"

namespace vramstow::simulator {

using EmulationPointer = std::unique_ptr<const Emulation>;

// Each function gets a parsed kernel name and returns null if it is not of the family.
EmulationPointer MakeDistribution(const TemplateName& kernel);  // random numbers
EmulationPointer MakeDropout(const TemplateName& kernel);
EmulationPointer MakeRadixSort(const TemplateName& kernel);  // for random orders
EmulationPointer MakeBlas(const TemplateName& kernel);       // of the stand-ins for cuBLAS

}  // namespace vramstow::simulator

#endif  // VRAMSTOW_SIMULATOR_KERNELS_NAMED_KERNELS_H_
