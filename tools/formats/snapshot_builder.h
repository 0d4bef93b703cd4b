// SnapshotBuilder converts the records of a PickleTree to a Snapshot.
//
// Idea: every field's name has a number in the tree's text table, and a table maps that number to a
// Field, so that a record is read with one switch and without comparing texts. Stacks and frames
// are recognised by the identity of their list or dict, because PyTorch shares them.
//
// Ownership: points to the tree. Threads: one. Errors: a record that cannot be used is counted
// (Drop); Build fails as snapshot_reader.h says.
#ifndef VRAMSTOW_TOOLS_FORMATS_SNAPSHOT_BUILDER_H_
#define VRAMSTOW_TOOLS_FORMATS_SNAPSHOT_BUILDER_H_

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "tools/formats/pickle_value.h"
#include "tools/formats/read_budget.h"
#include "tools/formats/snapshot.h"

namespace vramstow {

enum class Field : uint8_t {
  kUnknown,
  kSegments,
  kDeviceTraces,
  kAllocatorSettings,
  kExternalAnnotations,
  kHostSegments,
  kHostTraces,
  kDevice,
  kAddress,
  kTotalSize,
  kAllocatedSize,
  kActiveSize,
  kRequestedSize,
  kStream,
  kSegmentType,
  kSegmentPoolId,
  kIsExpandable,
  kFrames,
  kBlocks,
  kSize,
  kState,
  kHistory,
  kRealSize,
  kBlockSize,
  kIsDriver,
  kAddr,
  kAction,
  kTimeUs,
  kCompileContext,
  kUserMetadata,
  kPoolId,
  kDeviceFree,
  kName,
  kFilename,
  kLine,
  kFxNodeOp,
  kFxNodeName,
  kFxNodeInfo,
  kFxOriginalTrace,
  kStage,
};

class SnapshotBuilder {
 public:
  SnapshotBuilder(const PickleTree* tree, PickleValue root);

  absl::StatusOr<Snapshot> Build();

 private:
  // Numbers of records, for the sentences about missing data.
  struct Seen {
    uint64_t segments_without_pool = 0;
    uint64_t blocks_without_address = 0;
    uint64_t blocks_without_requested = 0;
    uint64_t entries_without_time = 0;
    uint64_t stacks = 0;
  };

  void BuildRoot();
  void AddSegments(PickleValue list, const char* name, SnapshotSpace* space);
  void AddTraces(PickleValue list, const char* name, SnapshotSpace* space);
  void AddAnnotations(PickleValue list);

  // The functions below return false if the record cannot be used; problem_ names the wrong field.
  bool ReadSegment(PickleValue dict, SnapshotSpace* space);
  bool ReadBlock(PickleValue dict, uint64_t address, SnapshotBlock* block);
  void ReadHistory(PickleValue list, SnapshotBlock* block, bool* has_requested);
  bool ReadEntry(PickleValue dict, TraceEntry* entry);
  bool ReadAnnotation(PickleValue dict, Annotation* annotation);
  Frame ReadFrame(PickleValue dict);
  StackId ReadStack(PickleValue list);
  bool ReadPool(PickleValue pair, PoolId* pool);
  bool ReadAction(PickleValue text, TraceAction* action);
  TextId TextOf(PickleValue value);

  // Read a number of a record; return false, and set problem_, if the value is no such number.
  bool Number(PickleValue value, const char* field, uint64_t* number);
  bool SmallNumber(PickleValue value, const char* field, int32_t* number);

  Field FieldOf(PickleValue key) const {
    const uint32_t text = key.AsText();
    return text < fields_.size() ? fields_[text] : Field::kUnknown;
  }
  void Drop(const char* kind, const std::string& where);
  void NoteWhatIsMissing();
  void NoteWhatIsDropped();
  void CheckSums(const SnapshotSpace& space, const char* what);

  const PickleTree& tree_;
  const PickleValue root_;
  Snapshot snapshot_;
  std::vector<Field> fields_;  // by the tree's text numbers
  std::vector<TextId> texts_;  // the tree's texts in the snapshot; initially kUnseenText
  absl::flat_hash_map<const PickleItems*, StackId> stacks_;
  absl::flat_hash_map<const PickleItems*, FrameId> frames_;
  std::vector<FrameId> frame_buffer_;
  ReadBudget budget_;
  size_t slots_ = 0;  // the largest number of devices in a list of traces
  std::string problem_;
  struct Dropped {
    uint64_t count = 0;
    std::string first;
  };
  std::map<std::string, Dropped> dropped_;  // by kind of record
  Seen seen_;
};

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_FORMATS_SNAPSHOT_BUILDER_H_
