// Records the events of a framework that uses its own allocator: the second table of
// include/vramstow/framework.h.
//
// Ownership: static storage. Threads: any, also under locks of the framework. Errors: codes of
// vramstow.h. Units: bytes.
#ifndef VRAMSTOW_INTERPOSE_CORE_FRAMEWORK_OBSERVED_H_
#define VRAMSTOW_INTERPOSE_CORE_FRAMEWORK_OBSERVED_H_

struct vramstow_table;

namespace vramstow {

// Returns null if nothing is traced here, or if the pool serves the framework.
const vramstow_table* TraceTable();

}  // namespace vramstow

#endif  // VRAMSTOW_INTERPOSE_CORE_FRAMEWORK_OBSERVED_H_
