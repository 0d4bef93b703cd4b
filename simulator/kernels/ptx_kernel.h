// Kernels that have an effect because their image has them as PTX: simulator/kernels/ptx runs them.
//
// Idea: the routine is compiled at a function's first launch. A launch copies its arguments and
// becomes work like any other. One that would never end, or takes more instructions than the SPEC
// allows, is stopped; what it wrote until then stays and is marked as left out, because a rehearsal
// must not fail for want of patience. One that touches what it must not leaves the context with the
// sticky error of a card.
//
// Ownership: a launch holds its program. Threads: State::mutex. Errors: on the context.
#ifndef VRAMSTOW_SIMULATOR_KERNELS_PTX_KERNEL_H_
#define VRAMSTOW_SIMULATOR_KERNELS_PTX_KERNEL_H_

#include "simulator/driver/module.h"

namespace vramstow::simulator {

// The work of a launch; null if there is no PTX of the kernel that can be run, or effects are off.
// Then *why is for people: empty, or what the PTX has that is not known.
std::shared_ptr<Work> MakePtxKernel(State* state, Context* context, const Launch& launch,
                                    std::string* why);

// Whether a launch would do nothing at all: the kernel ends with its first instruction.
bool IsEmptyKernel(const State& state, Function* function);

}  // namespace vramstow::simulator

#endif  // VRAMSTOW_SIMULATOR_KERNELS_PTX_KERNEL_H_
