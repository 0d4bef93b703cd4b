// Gives the cuSOLVER stand-in's kernels their effects, once. Threads: any. Errors: none.
#ifndef VRAMSTOW_SIMULATOR_RUNTIME_LIBRARIES_CUSOLVER_EMULATIONS_H_
#define VRAMSTOW_SIMULATOR_RUNTIME_LIBRARIES_CUSOLVER_EMULATIONS_H_

namespace vramstow::simulator {

void RegisterSolverEmulations();

}  // namespace vramstow::simulator

#endif  // VRAMSTOW_SIMULATOR_RUNTIME_LIBRARIES_CUSOLVER_EMULATIONS_H_
