// Provides the second table of include/vramstow/framework.h, by which the events of a framework
// that uses its own allocator are recorded.
//
// Ownership: static storage. Threads: any, also under locks of the framework. Errors: codes of
// vramstow.h. Units: bytes.
#ifndef VRAMSTOW_INTERPOSE_CORE_FRAMEWORK_OBSERVED_H_
#define VRAMSTOW_INTERPOSE_CORE_FRAMEWORK_OBSERVED_H_

struct vramstow_table;

namespace vramstow {

// Returns the table, or null in three cases: the settings are invalid, they ask for neither a trace
// nor metrics, or the pool serves the framework.
const vramstow_table* TraceTable();

}  // namespace vramstow

#endif  // VRAMSTOW_INTERPOSE_CORE_FRAMEWORK_OBSERVED_H_
