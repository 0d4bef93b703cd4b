// Which cards of the machine a process sees: CUDA_VISIBLE_DEVICES.
//
// Ownership: values. Threads: reads the environment once, at the start of the driver. Errors: as on
// a card, what is wrong ends the list. Units: none.
#ifndef VRAMSTOW_SIMULATOR_DRIVER_VISIBLE_H_
#define VRAMSTOW_SIMULATOR_DRIVER_VISIBLE_H_

#include "simulator/device/spec.h"

namespace vramstow::simulator {

// Narrows spec->cards to what `list` names, in its order: numbers, or UUIDs ("GPU-…", or their
// beginning). As documented, the list ends at the first entry that is none of the machine's. A card
// that is named twice makes the list worth nothing. Null: all.
void ChooseVisible(const char* list, Spec* spec);

}  // namespace vramstow::simulator

#endif  // VRAMSTOW_SIMULATOR_DRIVER_VISIBLE_H_
