// Executes kernels that simulator/kernels/named knows by name.
//
// Idea: the emulation of a name is looked up once per function. A launch copies its arguments and
// becomes work like any other, with its effect when its turn has come on the virtual clock. A
// kernel that accesses memory which it must not access leaves the context with a sticky error, as
// on a GPU. Launches that exceed the SPEC's limits, or the memory of this machine, take their time
// and do nothing, as unknown kernels do.
//
// Ownership: launches share the emulation of their kernel. Threads: the caller holds the driver's
// lock. Errors: set on the context.
#ifndef VRAMSTOW_SIMULATOR_KERNELS_NAMED_KERNEL_H_
#define VRAMSTOW_SIMULATOR_KERNELS_NAMED_KERNEL_H_

#include "simulator/driver/module.h"
#include "simulator/kernels/named/emulation.h"

namespace vramstow::simulator {

// The name and emulation of a kernel. Launches share it, so that it outlives the function.
struct NamedEmulation {
  std::string name;
  std::unique_ptr<const Emulation> emulation;
};

// Returns null if the kernel's name is not known.
std::shared_ptr<const NamedEmulation> FindEmulation(const std::string& kernel);

// Makes the work of a launch.
std::shared_ptr<Work> MakeKnownKernel(State* state, Context* context, const Launch& launch,
                                      const std::shared_ptr<const NamedEmulation>& known);

}  // namespace vramstow::simulator

#endif  // VRAMSTOW_SIMULATOR_KERNELS_NAMED_KERNEL_H_
