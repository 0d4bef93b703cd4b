// A program's variables on the device.
//
// Idea: a variable has its memory in a context when it is first asked for or a kernel that names it
// is launched there. Of a program that is there as PTX it begins with the values that the PTX gives
// it, and of any other with zeros.
//
// Ownership: the program's, until it or the context ends. Threads: the driver's lock. Errors:
// CUresult.
#ifndef VRAMSTOW_SIMULATOR_DRIVER_VARIABLE_H_
#define VRAMSTOW_SIMULATOR_DRIVER_VARIABLE_H_

#include "simulator/driver/module.h"

namespace vramstow::simulator {

CUresult FindGlobal(State* state, Context* context, Program* program, const std::string& name,
                    Global* global);

}  // namespace vramstow::simulator

#endif  // VRAMSTOW_SIMULATOR_DRIVER_VARIABLE_H_
