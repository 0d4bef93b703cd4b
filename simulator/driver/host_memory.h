// Host memory that the driver gives out or pins, and managed memory.
#ifndef VRAMSTOW_SIMULATOR_DRIVER_HOST_MEMORY_H_
#define VRAMSTOW_SIMULATOR_DRIVER_HOST_MEMORY_H_

#include "simulator/device/memory.h"

namespace vramstow::simulator {

// Gives back the pages of a pinned or managed block that the driver made; others: nothing.
void ReleaseHostPages(const Block& block);

// Host memory that copies need not stage: pinned, registered or managed.
bool IsPinned(const Block* block);

}  // namespace vramstow::simulator

#endif  // VRAMSTOW_SIMULATOR_DRIVER_HOST_MEMORY_H_
