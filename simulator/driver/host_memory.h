// Host memory that the driver gives out or pins, and managed memory.
//
// Ownership: the State; a block is given back by the call that names its kind. Threads: the
// driver's lock. Errors: CUresult. Units: bytes.
#ifndef VRAMSTOW_SIMULATOR_DRIVER_HOST_MEMORY_H_
#define VRAMSTOW_SIMULATOR_DRIVER_HOST_MEMORY_H_

#include "simulator/device/contents.h"

namespace vramstow::simulator {

// Pages of this process, not touched yet; null: none left. Given back with the same size.
void* MapHostPages(uint64_t bytes);
void UnmapHostPages(Contents* contents, uint64_t address, uint64_t bytes);

// Gives back the pages of a pinned or managed block that the driver made; others: nothing.
void ReleaseHostPages(Contents* contents, const Block& block);

// Host memory that copies need not stage: pinned, registered or managed.
bool IsPinned(const Block* block);

}  // namespace vramstow::simulator

#endif  // VRAMSTOW_SIMULATOR_DRIVER_HOST_MEMORY_H_
