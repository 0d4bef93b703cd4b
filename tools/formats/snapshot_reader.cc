#include "tools/formats/snapshot_reader.h"

#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "tools/formats/snapshot_builder.h"
#include "tools/formats/text_helpers.h"
#include "tools/formats/unpickler.h"

namespace vramstow {
namespace {

absl::Status InFile(const std::string& path, const absl::Status& status) {
  return absl::Status(status.code(), Concat(path, ": ", std::string(status.message())));
}

bool IsSnapshot(const PickleTree& tree, PickleValue value) {
  const std::span<const PickleValue> pairs = value.AsDict();
  for (size_t i = 0; i + 1 < pairs.size(); i += 2) {
    const std::string_view key = tree.Text(pairs[i].AsText());
    if (key == "segments" || key == "device_traces") return true;
  }
  return false;
}

// Returns the snapshots in a list or dict that has several of them. They were taken one after the
// other.
std::vector<PickleValue> SnapshotsIn(const PickleTree& tree) {
  std::vector<PickleValue> snapshots;
  const auto add = [&](PickleValue value) {
    if (IsSnapshot(tree, value)) snapshots.push_back(value);
  };
  for (const PickleValue value : tree.root().AsSequence()) add(value);
  const std::span<const PickleValue> pairs = tree.root().AsDict();
  for (size_t i = 1; i < pairs.size(); i += 2) add(pairs[i]);
  return snapshots;
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
  if (IsSnapshot(tree, tree.root())) return SnapshotBuilder(&tree, tree.root()).Build();
  const std::vector<PickleValue> snapshots = SnapshotsIn(tree);
  absl::StatusOr<Snapshot> snapshot =
      SnapshotBuilder(&tree, snapshots.empty() ? tree.root() : snapshots.back()).Build();
  if (snapshot.ok() && snapshots.size() > 1) {
    snapshot->missing.push_back(Concat(
        "the file holds ", snapshots.size(),
        " snapshots, of which the last is read: write each to its own file to read them all"));
  }
  return snapshot;
}

}  // namespace vramstow
