// Implements host memory that the driver allocates or pins, and managed memory.
//
// Ownership: the State owns the blocks; a block is freed by the function that belongs to its kind.
// Threads: the caller holds the driver's lock. Errors: returns a CUresult. Units: bytes.
#ifndef VRAMSTOW_SIMULATOR_DRIVER_HOST_MEMORY_H_
#define VRAMSTOW_SIMULATOR_DRIVER_HOST_MEMORY_H_

#include "simulator/device/contents.h"

namespace vramstow::simulator {

// Maps untouched pages of this process; null if there are none. They must be unmapped with the same
// size.
void* MapHostPages(uint64_t bytes);
void UnmapHostPages(Contents* contents, uint64_t address, uint64_t bytes);

// Unmaps the pages of a pinned or managed block if the driver allocated them.
void ReleaseHostPages(Contents* contents, const Block& block);

// True for host memory that copies need not stage: pinned, registered or managed.
bool IsPinned(const Block* block);

}  // namespace vramstow::simulator

#endif  // VRAMSTOW_SIMULATOR_DRIVER_HOST_MEMORY_H_
