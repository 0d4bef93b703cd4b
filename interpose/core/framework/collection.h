// Collects garbage that holds tensors before an allocation fails: the fourth table of
// include/vramstow/framework.h.
//
// Idea: this is the last step of the pool when memory is short. A collector for the program's
// language carries it out. If none is installed, this step is left out.
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

// Have the signatures that allocator/core/config.h requires; `context` is not used.
bool CanCollect(void* context);
uint64_t CollectGarbage(void* context, int device, bool all);

// Called in a forked child, async-signal-safe: nothing can be collected there.
void AbandonCollectionAfterFork();

}  // namespace vramstow

#endif  // VRAMSTOW_INTERPOSE_CORE_FRAMEWORK_COLLECTION_H_
