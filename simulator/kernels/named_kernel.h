// Executes kernels that simulator/kernels/named knows by name.
//
// Idea: a launch copies its argument and becomes work like any other, which takes effect when the
// virtual clock reaches it. A kernel that accesses memory which it must not access leaves the
// context with a sticky error, as on a GPU. Launches that exceed the SPEC's limits, or the memory
// of this machine, take their time and do nothing, as unknown kernels do.
//
// Ownership: the caller owns the work. Threads: the caller holds the driver's lock. Errors: set on
// the context.
#ifndef VRAMSTOW_SIMULATOR_KERNELS_NAMED_KERNEL_H_
#define VRAMSTOW_SIMULATOR_KERNELS_NAMED_KERNEL_H_

#include "simulator/driver/module.h"
#include "simulator/kernels/named/emulation.h"

namespace vramstow::simulator {

// Makes the work of a launch.
std::shared_ptr<Work> MakeKnownKernel(State* state, Context* context, const Launch& launch,
                                      Emulation emulation);

}  // namespace vramstow::simulator

#endif  // VRAMSTOW_SIMULATOR_KERNELS_NAMED_KERNEL_H_
