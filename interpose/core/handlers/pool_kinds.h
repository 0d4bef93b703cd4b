// Which stream-ordered pools hold managed or pinned memory instead of a device's.
//
// Idea: such pools are few and mostly there are none, so a short table is enough and an allocation
// looks at nothing but its length. A pool that the table has no room for counts as device memory.
//
// Ownership: nothing; handles are the application's. Threads: any, without locks. Errors: none.
#ifndef VRAMSTOW_INTERPOSE_CORE_HANDLERS_POOL_KINDS_H_
#define VRAMSTOW_INTERPOSE_CORE_HANDLERS_POOL_KINDS_H_

#include <cuda.h>

#include "base/event.h"

namespace vramstow::handlers {

// The memory that pools of this type and location hold.
MemoryKind PoolMemory(CUmemAllocationType type, const CUmemLocation& location);

// From now on `pool` holds such memory.
void NotePool(CUmemoryPool pool, MemoryKind kind);
void ForgetPool(CUmemoryPool pool);

MemoryKind KindOfPool(CUmemoryPool pool);

}  // namespace vramstow::handlers

#endif  // VRAMSTOW_INTERPOSE_CORE_HANDLERS_POOL_KINDS_H_
