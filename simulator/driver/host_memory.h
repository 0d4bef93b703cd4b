// Implements host memory that the driver allocates or pins, and managed memory.
//
// Ownership: the State owns the blocks; a block is freed by the function that belongs to its kind.
// Threads: the caller holds the driver's lock. Errors: returns a CUresult. Units: bytes.
#ifndef VRAMSTOW_SIMULATOR_DRIVER_HOST_MEMORY_H_
#define VRAMSTOW_SIMULATOR_DRIVER_HOST_MEMORY_H_

#include "simulator/device/contents.h"

namespace vramstow::simulator {

// Maps untouched pages of this process. Returns null if no pages are available. The pages must be
// unmapped with the same size.
void* MapHostPages(uint64_t bytes);
void UnmapHostPages(Contents* contents, uint64_t address, uint64_t bytes);

// Unmaps the pages of a pinned or managed block if the driver allocated them.
void ReleaseHostPages(Contents* contents, const Block& block);

// True for host memory (pinned, registered or managed) whose copies need no staging buffer.
bool IsPinned(const Block* block);

}  // namespace vramstow::simulator

#endif  // VRAMSTOW_SIMULATOR_DRIVER_HOST_MEMORY_H_
