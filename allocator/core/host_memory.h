// Host memory for the pool's own records, straight from the kernel.
//
// Ownership: the caller's, until FreeHostMemory. Threads: any. Errors: null or false; errno is
// left as it was. Units: bytes; sizes are rounded up to whole pages by the kernel.
#ifndef VRAMSTOW_ALLOCATOR_CORE_HOST_MEMORY_H_
#define VRAMSTOW_ALLOCATOR_CORE_HOST_MEMORY_H_

#include <cstdint>

namespace vramstow {

// Address space only: costs nothing until it is committed.
void* ReserveHostMemory(uint64_t size);
// Makes [from, to) of a reserved range usable; it reads as zero.
bool CommitHostMemory(void* base, uint64_t from, uint64_t to);
// Zeroed and usable at once; untouched pages cost nothing.
void* AllocateHostMemory(uint64_t size);
void FreeHostMemory(void* base, uint64_t size);

}  // namespace vramstow

#endif  // VRAMSTOW_ALLOCATOR_CORE_HOST_MEMORY_H_
