// Selects the GPUs of the machine that a process sees, by CUDA_VISIBLE_DEVICES.
//
// Ownership: values. Threads: reads the environment once, at the start of the driver. Errors: as on
// a GPU, a wrong entry ends the list. Units: none.
#ifndef VRAMSTOW_SIMULATOR_DRIVER_VISIBLE_H_
#define VRAMSTOW_SIMULATOR_DRIVER_VISIBLE_H_

#include "simulator/device/spec.h"

namespace vramstow::simulator {

// Reduces spec->cards to the GPUs in `list`, in its order. Entries are numbers or UUIDs ("GPU-…",
// or their beginning). As documented, the list ends at the first entry that is not a GPU of the
// machine, and a GPU that is named twice makes the whole list invalid. A null list selects all.
void ChooseVisible(const char* list, Spec* spec);

}  // namespace vramstow::simulator

#endif  // VRAMSTOW_SIMULATOR_DRIVER_VISIBLE_H_
