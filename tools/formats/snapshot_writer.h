// Writes a memory snapshot that PyTorch's own viewer (pytorch.org/memory_viz) and its script
// _memory_viz.py can open.
//
// Idea: the viewer makes assumptions, which the writer satisfies: blocks tile their segment (gaps
// become inactive blocks); a free_requested that never completes and whose block is not pending is
// completed at once; a free_completed without a request gets one directly before it; every segment
// has a pool id, and every record has frames. Call stacks are written once. The file uses protocol
// 4 without globals, bytes or 8-byte text lengths.
//
// Ownership: retains nothing. Threads: no shared state. Errors: kInvalidArgument if blocks overlap
// or lie outside their segment, kUnavailable if the sink fails; one sentence. Units: as in
// snapshot.h.
#ifndef VRAMSTOW_TOOLS_FORMATS_SNAPSHOT_WRITER_H_
#define VRAMSTOW_TOOLS_FORMATS_SNAPSHOT_WRITER_H_

#include <ostream>
#include <string>

#include "absl/status/status.h"
#include "tools/formats/snapshot.h"

namespace vramstow {

absl::Status WriteSnapshot(const Snapshot& snapshot, std::ostream* sink);

// Writes to a file that appears either complete or not at all.
absl::Status WriteSnapshotFile(const Snapshot& snapshot, const std::string& path);

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_FORMATS_SNAPSHOT_WRITER_H_
