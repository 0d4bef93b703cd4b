// Kernels that have an effect because simulator/kernels/named knows them by name.
//
// Idea: what is known of a name is found out once per function. A launch copies its arguments and
// becomes work like any other: its effect is there when its turn has come on the virtual clock. A
// kernel that touches what it must not leaves the context with the sticky error of a card.
// Launches that are too large for the SPEC's limits, or more than this machine's memory should
// hold, take their time and do nothing, as unknown kernels do.
//
// Ownership: functions own what is known of them. Threads: State::mutex. Errors: on the context.
#ifndef VRAMSTOW_SIMULATOR_KERNELS_NAMED_KERNEL_H_
#define VRAMSTOW_SIMULATOR_KERNELS_NAMED_KERNEL_H_

#include "simulator/driver/module.h"

namespace vramstow::simulator {

// What is known of a function by its name, or null.
const Effect* FindEffect(Function* function);

// The work of a launch; null if nothing is known of the kernel, or effects are off.
std::shared_ptr<Work> MakeKnownKernel(State* state, Context* context, const Launch& launch);

// Counts a launch without effect, for the list at exit that kernels=list asks for.
void NoteIdleLaunch(const State& state, const std::string& kernel, const char* reason);

// A name that lives as long as the process: marks of what was left out refer to it, and reasons
// are kept by address.
const char* LastingName(const std::string& name);

}  // namespace vramstow::simulator

#endif  // VRAMSTOW_SIMULATOR_KERNELS_NAMED_KERNEL_H_
