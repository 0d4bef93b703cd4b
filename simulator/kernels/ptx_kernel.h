// Kernels that have an effect because their image has them as PTX: simulator/kernels/ptx runs them.
//
// Idea: the routine is compiled at a function's first launch. A launch copies its arguments and
// becomes work like any other. One that would never end, or takes more instructions than the SPEC
// allows, is stopped; what it wrote until then stays and is marked as uncomputed, because a
// rehearsal must not fail for want of patience. One that touches what it must not leaves the
// context with the sticky error of a card.
//
// Ownership: a launch holds its program. Threads: the driver's lock. Errors: on the context.
#ifndef VRAMSTOW_SIMULATOR_KERNELS_PTX_KERNEL_H_
#define VRAMSTOW_SIMULATOR_KERNELS_PTX_KERNEL_H_

#include "simulator/driver/module.h"
#include "simulator/kernels/ptx/program.h"

namespace vramstow::simulator {

// The work of a launch; null if the PTX of the kernel cannot be run. Then *why says why, for
// people.
std::shared_ptr<Work> MakePtxKernel(State* state, Context* context, const Launch& launch,
                                    const std::shared_ptr<ptx::Program>& code,
                                    const ptx::Routine& routine, std::string* why);

}  // namespace vramstow::simulator

#endif  // VRAMSTOW_SIMULATOR_KERNELS_PTX_KERNEL_H_
