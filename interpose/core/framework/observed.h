// Events of a framework whose own allocator is in place: the second table of
// include/vramstow/framework.h.
//
// Ownership: static storage. Threads: any, also under locks of the framework. Errors: codes of
// vramstow.h. Units: bytes.
#ifndef VRAMSTOW_INTERPOSE_CORE_FRAMEWORK_OBSERVED_H_
#define VRAMSTOW_INTERPOSE_CORE_FRAMEWORK_OBSERVED_H_

struct vramstow_table;

namespace vramstow {

// Null: nothing is traced here, or the pool serves the framework.
const vramstow_table* TraceTable();

}  // namespace vramstow

#endif  // VRAMSTOW_INTERPOSE_CORE_FRAMEWORK_OBSERVED_H_
