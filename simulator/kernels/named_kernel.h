// Kernels that have an effect because simulator/kernels/named knows them by name.
//
// Idea: what is known of a name is found out once per function. A launch copies its arguments and
// becomes work like any other: its effect is there when its turn has come on the virtual clock. A
// kernel that touches what it must not leaves the context with the sticky error of a card.
// Launches that are too large for the SPEC's limits, or more than this machine's memory should
// hold, take their time and do nothing, as unknown kernels do.
//
// Ownership: launches share what is known of their kernel. Threads: the driver's lock. Errors: on
// the context.
#ifndef VRAMSTOW_SIMULATOR_KERNELS_NAMED_KERNEL_H_
#define VRAMSTOW_SIMULATOR_KERNELS_NAMED_KERNEL_H_

#include "simulator/driver/module.h"
#include "simulator/kernels/named/emulation.h"

namespace vramstow::simulator {

// What is known of a kernel by its name; launches hold it, so that it outlives the function.
struct NamedEmulation {
  std::string name;
  std::unique_ptr<const Emulation> emulation;
};

// Null: nothing is known of a kernel with this name.
std::shared_ptr<const NamedEmulation> FindEmulation(const std::string& kernel);

// The work of a launch.
std::shared_ptr<Work> MakeKnownKernel(State* state, Context* context, const Launch& launch,
                                      const std::shared_ptr<const NamedEmulation>& known);

}  // namespace vramstow::simulator

#endif  // VRAMSTOW_SIMULATOR_KERNELS_NAMED_KERNEL_H_
