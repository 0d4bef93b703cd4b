// Finds the simulated driver's functions for libraries that compute in place of kernels.
//
// Idea: simulator_api.h declares the functions. A real driver has none of them. So they are looked
// up in the libcuda.so.1 of this process, and if one is missing, none is used.
//
// Ownership: the table lives as long as the process. Threads: any. Errors: null. Units: bytes.
#ifndef VRAMSTOW_ADAPTERS_VALUES_SIMULATOR_LINK_H_
#define VRAMSTOW_ADAPTERS_VALUES_SIMULATOR_LINK_H_

#include "simulator/simulator_api.h"

namespace vramstow::values {

struct SimulatorLink {
  decltype(&vramstowSimulatorAppend) append;
  decltype(&vramstowSimulatorAffords) affords;
  decltype(&vramstowSimulatorShadow) shadow;
  decltype(&vramstowSimulatorHoldKernels) hold_kernels;
  decltype(&vramstowSimulatorPatchReads) patch_reads;
  decltype(&vramstowSimulatorWatchesUses) watches_uses;
  decltype(&vramstowSimulatorTellUses) report_uses;
  decltype(&vramstowSimulatorNoteUnknownSize) note_unknown_size;
};

// Returns null if the process has no simulated driver, or has not loaded it yet.
const SimulatorLink* FindSimulator();

// Returns the distance from a device address to its bytes on the host; 0 if there are no bytes to
// compute with.
int64_t ShadowDistance();

}  // namespace vramstow::values

#endif  // VRAMSTOW_ADAPTERS_VALUES_SIMULATOR_LINK_H_
