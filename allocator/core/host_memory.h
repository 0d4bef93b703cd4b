// Functions that get host memory for the pool's own records directly from the kernel.
//
// Ownership: the caller owns the memory until FreeHostMemory. Threads: any. Errors: returns null or
// false; errno is preserved. Units: bytes; the kernel rounds sizes up to whole pages.
#ifndef VRAMSTOW_ALLOCATOR_CORE_HOST_MEMORY_H_
#define VRAMSTOW_ALLOCATOR_CORE_HOST_MEMORY_H_

#include <cstdint>

namespace vramstow {

// Reserves address space, which costs no memory until it is committed.
void* ReserveHostMemory(uint64_t size);
// Makes [from, to) of a reserved range usable; it reads as zero.
bool CommitHostMemory(void* base, uint64_t from, uint64_t to);
// Returns zeroed memory that is usable at once; pages that are never touched cost nothing.
void* AllocateHostMemory(uint64_t size);
void FreeHostMemory(void* base, uint64_t size);

}  // namespace vramstow

#endif  // VRAMSTOW_ALLOCATOR_CORE_HOST_MEMORY_H_
