// Reads PyTorch memory snapshots of every layout since 2023.
//
// Idea: the pickle becomes a PickleTree, whose records are taken over field by field. A record that
// lacks what it cannot do without (a segment without an address, say) is left out and counted; what
// the file as a whole lacks is said in Snapshot::missing. Only what has neither segments nor events
// is no snapshot.
//
// Layouts: a dict with segments, device_traces, allocator_settings, external_annotations,
// host_segments, host_traces, of which all but one may be absent; a list or
// dict of several such dicts, of which the last is read; or a bare list of segments.
// Blocks with `frames` and `requested_size`, or with `history` (real_size, frames) and without
// address.
//
// Ownership: the snapshot owns all it holds. Threads: no shared state. Errors: the Status of Input
// or Unpickle; kInvalidArgument for a pickle of something else; kResourceExhausted for one that
// refers to the same records over and over. Each one sentence, with the file's path.
// Memory: the tree (about twice the file) while reading, then the snapshot (about once).
#ifndef VRAMSTOW_TOOLS_FORMATS_SNAPSHOT_READER_H_
#define VRAMSTOW_TOOLS_FORMATS_SNAPSHOT_READER_H_

#include <string>

#include "absl/status/statusor.h"
#include "tools/formats/input.h"
#include "tools/formats/pickle_value.h"
#include "tools/formats/snapshot.h"

namespace vramstow {

absl::StatusOr<Snapshot> ReadSnapshot(const std::string& path);
// An input whose format is kPickle.
absl::StatusOr<Snapshot> ReadSnapshot(const Input& input);
absl::StatusOr<Snapshot> SnapshotFromTree(const PickleTree& tree);

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_FORMATS_SNAPSHOT_READER_H_
