// Reads PyTorch memory snapshots of every layout since 2023.
//
// Idea: the pickle becomes a PickleTree, whose records are converted field by field. A record that
// lacks a required field (such as a segment without an address) is left out and counted;
// Snapshot::missing describes what the file as a whole lacks. A file is refused as no snapshot if
// it has neither segments nor events.
//
// Layouts: a dict with segments, device_traces, allocator_settings, external_annotations,
// host_segments, host_traces, of which all but one may be absent; a list or dict of several such
// dicts, of which the last is read; or a bare list of segments. Blocks have `frames` and
// `requested_size`, or `history` (real_size, frames) and no address.
//
// Ownership: the snapshot owns its data. Threads: no shared state. Errors: the Status of Input or
// Unpickle; kInvalidArgument for a pickle of other data; kResourceExhausted for one that refers to
// the same records over and over. Each is one sentence with the file's path.
// Memory: the tree (about twice the file) while reading, then the snapshot (about the size of the
// file).
#ifndef VRAMSTOW_TOOLS_FORMATS_SNAPSHOT_READER_H_
#define VRAMSTOW_TOOLS_FORMATS_SNAPSHOT_READER_H_

#include <string>

#include "absl/status/statusor.h"
#include "tools/formats/input.h"
#include "tools/formats/pickle_value.h"
#include "tools/formats/snapshot.h"

namespace vramstow {

absl::StatusOr<Snapshot> ReadSnapshot(const std::string& path);
// Reads a snapshot. The format of the input must be kPickle.
absl::StatusOr<Snapshot> ReadSnapshot(const Input& input);
absl::StatusOr<Snapshot> SnapshotFromTree(const PickleTree& tree);

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_FORMATS_SNAPSHOT_READER_H_
