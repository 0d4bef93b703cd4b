// Allocates a program's variables on the device.
//
// Idea: a variable gets its memory in a context when it is first requested, or when a kernel that
// names it is first launched there. A variable of a PTX program begins with the values in the PTX;
// any other begins with zeros.
//
// Ownership: the program owns the memory until it or the context ends. Threads: the caller holds
// the driver's lock. Errors: returns a CUresult.
#ifndef VRAMSTOW_SIMULATOR_DRIVER_VARIABLE_H_
#define VRAMSTOW_SIMULATOR_DRIVER_VARIABLE_H_

#include "simulator/driver/module.h"

namespace vramstow::simulator {

CUresult FindGlobal(State* state, Context* context, Program* program, const std::string& name,
                    Global* global);

}  // namespace vramstow::simulator

#endif  // VRAMSTOW_SIMULATOR_DRIVER_VARIABLE_H_
