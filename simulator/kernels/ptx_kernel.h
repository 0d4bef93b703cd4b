// Executes kernels whose image contains PTX: simulator/kernels/ptx runs them.
//
// Idea: the routine is compiled at a function's first launch. A launch copies its arguments and
// becomes work like any other. A kernel that never ends, or executes more instructions than the
// SPEC allows, is stopped; its writes stay and are marked as uncomputed. A kernel with instructions
// that are not known changes nothing, and what it would have written is marked. Neither is an
// error, because a simulated run must not fail only because it is slow or does not know everything.
// A kernel that accesses memory which it must not access leaves the context with a sticky error, as
// on a GPU.
//
// Ownership: a launch shares its program. Threads: the caller holds the driver's lock. Errors: set
// on the context.
#ifndef VRAMSTOW_SIMULATOR_KERNELS_PTX_KERNEL_H_
#define VRAMSTOW_SIMULATOR_KERNELS_PTX_KERNEL_H_

#include "simulator/driver/module.h"
#include "simulator/kernels/ptx/program.h"

namespace vramstow::simulator {

// Makes the work of a launch. Returns null if the kernel's PTX cannot be run; *why then has the
// reason as text for users.
std::shared_ptr<Work> MakePtxKernel(State* state, Context* context, const Launch& launch,
                                    const std::shared_ptr<ptx::Program>& code,
                                    const ptx::Routine& routine, std::string* why);

}  // namespace vramstow::simulator

#endif  // VRAMSTOW_SIMULATOR_KERNELS_PTX_KERNEL_H_
