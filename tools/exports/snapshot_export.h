// Exports a run as a PyTorch memory snapshot, for PyTorch's own viewer and its scripts.
//
// Idea: a snapshot has the state at the end and the events before it. Memory that a pool allocated
// from the device becomes segments (adjacent mappings are one expandable segment); a block that the
// driver allocated for the application becomes a segment of its own. Like PyTorch's ring of events,
// the export has the last kMaxEntries of each device.
//
// Ownership: results are the caller's. Threads: no shared state. Errors: none; blocks that lie in
// no segment (because their pool was created before the trace) are counted in Snapshot::missing.
// Units: as in snapshot.h.
#ifndef VRAMSTOW_TOOLS_EXPORTS_SNAPSHOT_EXPORT_H_
#define VRAMSTOW_TOOLS_EXPORTS_SNAPSHOT_EXPORT_H_

#include "tools/analysis/accounts/event_source.h"
#include "tools/formats/snapshot.h"

namespace vramstow {

inline constexpr size_t kMaxEntries = size_t{1} << 22;

// Reads the source to its end.
Snapshot SnapshotOf(EventSource* source);

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_EXPORTS_SNAPSHOT_EXPORT_H_
