// Collecting what only garbage holds, before an allocation fails: the fourth table of
// include/vramstow/framework.h.
//
// Idea: the pool's last step. Somebody who knows the program's language serves it; where nobody
// does, it is never tried.
//
// Ownership: static storage; texts are copied. Threads: any, without locks of the pool. Errors:
// nothing is collected. Units: bytes.
#ifndef VRAMSTOW_INTERPOSE_CORE_FRAMEWORK_COLLECTION_H_
#define VRAMSTOW_INTERPOSE_CORE_FRAMEWORK_COLLECTION_H_

#include <cstdint>

struct vramstow_table;

namespace vramstow {

// Null: the user wants none.
const vramstow_table* CollectionTable();

// As allocator/core/config.h has them; `context` is not used.
bool CanCollect(void* context);
uint64_t CollectGarbage(void* context, int device, bool all);

// In a forked child, async-signal-safe: nobody can collect there.
void AbandonCollectionAfterFork();

}  // namespace vramstow

#endif  // VRAMSTOW_INTERPOSE_CORE_FRAMEWORK_COLLECTION_H_
