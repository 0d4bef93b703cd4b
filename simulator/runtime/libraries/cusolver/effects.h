// Gives the cuSOLVER stand-in's kernels their effects, once. Threads: any. Errors: none.
#ifndef VRAMSTOW_SIMULATOR_RUNTIME_LIBRARIES_CUSOLVER_EFFECTS_H_
#define VRAMSTOW_SIMULATOR_RUNTIME_LIBRARIES_CUSOLVER_EFFECTS_H_

namespace vramstow::simulator {

void RegisterSolverEffects();

}  // namespace vramstow::simulator

#endif  // VRAMSTOW_SIMULATOR_RUNTIME_LIBRARIES_CUSOLVER_EFFECTS_H_
