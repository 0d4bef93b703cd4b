// Provides the fourth table of include/vramstow/framework.h, by which the pool collects garbage
// that holds tensors before an allocation fails.
//
// Idea: this is the last step of the pool when memory is short. A collector for the program's
// language (Python) carries it out. If none is installed, this step is left out.
//
// Ownership: static storage; texts are copied. Threads: any, without locks of the pool. Errors:
// nothing is collected. Units: bytes.
#ifndef VRAMSTOW_INTERPOSE_CORE_FRAMEWORK_COLLECTION_H_
#define VRAMSTOW_INTERPOSE_CORE_FRAMEWORK_COLLECTION_H_

#include <cstdint>

struct vramstow_table;

namespace vramstow {

// Returns the table, or null if the user has disabled collections.
const vramstow_table* CollectionTable();

// The pool calls these two functions when memory is short: CanCollect asks whether a garbage
// collection is possible, and CollectGarbage carries one out and returns the number of freed bytes.
// `context` is not used; it is there because allocator/core/config.h requires this signature.
bool CanCollect(void* context);
uint64_t CollectGarbage(void* context, int device, bool all);

// Removes the collector, because nothing can be collected in a forked child. Called in the child;
// async-signal-safe.
void AbandonCollectionAfterFork();

}  // namespace vramstow

#endif  // VRAMSTOW_INTERPOSE_CORE_FRAMEWORK_COLLECTION_H_
