#include "tools/formats/snapshot_reader.h"

#include <utility>

#include "tools/formats/snapshot_builder.h"
#include "tools/formats/text.h"
#include "tools/formats/unpickler.h"

namespace vramstow {
namespace {

absl::Status InFile(const std::string& path, const absl::Status& status) {
  return absl::Status(status.code(), Concat(path, ": ", std::string(status.message())));
}

}  // namespace

absl::StatusOr<Snapshot> ReadSnapshot(const std::string& path) {
  const absl::StatusOr<Input> input = Input::Open(path);
  if (!input.ok()) return input.status();
  return ReadSnapshot(*input);
}

absl::StatusOr<Snapshot> ReadSnapshot(const Input& input) {
  if (input.sniffed().format != FileFormat::kPickle) {
    return absl::InvalidArgumentError(Concat(input.path(), " is ", input.sniffed().what,
                                             ", not a PyTorch memory snapshot (a pickle)"));
  }
  const absl::StatusOr<PickleTree> tree = Unpickle(input.bytes());
  if (!tree.ok()) return InFile(input.path(), tree.status());
  absl::StatusOr<Snapshot> snapshot = SnapshotFromTree(*tree);
  if (!snapshot.ok()) return InFile(input.path(), snapshot.status());
  if (!input.damage().empty()) {
    snapshot->complete = false;
    snapshot->missing.insert(snapshot->missing.begin(), input.damage());
  }
  return snapshot;
}

absl::StatusOr<Snapshot> SnapshotFromTree(const PickleTree& tree) {
  return SnapshotBuilder(&tree).Build();
}

}  // namespace vramstow
