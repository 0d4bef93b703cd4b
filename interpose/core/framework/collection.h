// Collects garbage that holds tensors before an allocation fails: the fourth table of
// include/vramstow/framework.h.
//
// Idea: this is the last step of the pool under pressure. A collector for the program's language
// serves it; without a collector it is never tried.
//
// Ownership: static storage; texts are copied. Threads: any, without locks of the pool. Errors:
// nothing is collected. Units: bytes.
#ifndef VRAMSTOW_INTERPOSE_CORE_FRAMEWORK_COLLECTION_H_
#define VRAMSTOW_INTERPOSE_CORE_FRAMEWORK_COLLECTION_H_

#include <cstdint>

struct vramstow_table;

namespace vramstow {

// Returns null if the user has disabled collections.
const vramstow_table* CollectionTable();

// Have the signatures of allocator/core/config.h; `context` is not used.
bool CanCollect(void* context);
uint64_t CollectGarbage(void* context, int device, bool all);

// Called in a forked child, async-signal-safe: nothing can be collected there.
void AbandonCollectionAfterFork();

}  // namespace vramstow

#endif  // VRAMSTOW_INTERPOSE_CORE_FRAMEWORK_COLLECTION_H_
