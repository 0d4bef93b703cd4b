// Stores which stream-ordered pools (CUmemoryPool) hold managed or pinned memory instead of a
// device's.
//
// Idea: mostly there is no such pool, and never many, so a short table is enough. An allocation
// usually reads only the table's length. A pool that does not fit into the table counts as device
// memory.
//
// Ownership: none; handles are the application's. Threads: any, without locks. Errors: none. Units:
// none.
#ifndef VRAMSTOW_INTERPOSE_CORE_HANDLERS_POOL_KINDS_H_
#define VRAMSTOW_INTERPOSE_CORE_HANDLERS_POOL_KINDS_H_

#include <cuda.h>

#include "base/event.h"

namespace vramstow::handlers {

// Returns the kind of memory that pools of this type and location hold.
MemoryKind PoolMemory(CUmemAllocationType type, const CUmemLocation& location);

// Records that `pool` holds memory of this kind.
void NotePool(CUmemoryPool pool, MemoryKind kind);
void ForgetPool(CUmemoryPool pool);

MemoryKind KindOfPool(CUmemoryPool pool);

}  // namespace vramstow::handlers

#endif  // VRAMSTOW_INTERPOSE_CORE_HANDLERS_POOL_KINDS_H_
