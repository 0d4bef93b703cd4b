#include "tools/formats/snapshot_builder.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "tools/base/utf8.h"
#include "tools/formats/text_helpers.h"

namespace vramstow {
namespace {

struct FieldName {
  Field field;
  std::string_view name;
};

constexpr FieldName kFieldNames[] = {
    {Field::kSegments, "segments"},
    {Field::kDeviceTraces, "device_traces"},
    {Field::kAllocatorSettings, "allocator_settings"},
    {Field::kExternalAnnotations, "external_annotations"},
    {Field::kHostSegments, "host_segments"},
    {Field::kHostTraces, "host_traces"},
    {Field::kDevice, "device"},
    {Field::kAddress, "address"},
    {Field::kTotalSize, "total_size"},
    {Field::kAllocatedSize, "allocated_size"},
    {Field::kActiveSize, "active_size"},
    {Field::kRequestedSize, "requested_size"},
    {Field::kStream, "stream"},
    {Field::kSegmentType, "segment_type"},
    {Field::kSegmentPoolId, "segment_pool_id"},
    {Field::kIsExpandable, "is_expandable"},
    {Field::kFrames, "frames"},
    {Field::kBlocks, "blocks"},
    {Field::kSize, "size"},
    {Field::kState, "state"},
    {Field::kHistory, "history"},
    {Field::kRealSize, "real_size"},
    {Field::kBlockSize, "block_size"},
    {Field::kIsDriver, "is_driver"},
    {Field::kAddr, "addr"},
    {Field::kAction, "action"},
    {Field::kTimeUs, "time_us"},
    {Field::kCompileContext, "compile_context"},
    {Field::kUserMetadata, "user_metadata"},
    {Field::kPoolId, "pool_id"},
    {Field::kDeviceFree, "device_free"},
    {Field::kName, "name"},
    {Field::kFilename, "filename"},
    {Field::kLine, "line"},
    {Field::kFxNodeOp, "fx_node_op"},
    {Field::kFxNodeName, "fx_node_name"},
    {Field::kFxNodeInfo, "fx_node_info"},
    {Field::kFxOriginalTrace, "fx_original_trace"},
    {Field::kStage, "stage"},
};

constexpr int kDeepestBuiltSetting = 4;
constexpr size_t kMaxSettings = 10'000;
constexpr size_t kLongestKey = 256;
constexpr size_t kLongestSetting = 4096;

// Adds the settings of a dict, whose names begin with `prefix`, and those of the dicts in it.
void AddSettings(const PickleTree& tree, PickleValue dict, const std::string& prefix, int depth,
                 ReadBudget* budget, std::vector<AllocatorSetting>* settings) {
  const std::span<const PickleValue> pairs = dict.AsDict();
  for (size_t i = 0; i + 1 < pairs.size() && budget->Visit(); i += 2) {
    const uint32_t key = pairs[i].AsText();
    if (key == PickleValue::kNotAText || settings->size() >= kMaxSettings) continue;
    // Many settings may share one long text.
    if (tree.Text(key).size() > kLongestKey) continue;
    AllocatorSetting setting{.name = prefix + CleanUtf8(tree.Text(key)), .value = {}};
    const PickleValue value = pairs[i + 1];
    if (value.is(PickleKind::kDict)) {
      if (depth + 1 < kDeepestBuiltSetting) {
        AddSettings(tree, value, setting.name + ".", depth + 1, budget, settings);
      }
      continue;
    }
    if (value.is(PickleKind::kFalse) || value.is(PickleKind::kTrue)) {
      setting.value = value.is(PickleKind::kTrue);
    } else if (const std::optional<int64_t> number = value.AsSigned()) {
      setting.value = *number;
    } else if (const std::optional<double> real = value.AsFloat()) {
      setting.value = *real;
    } else if (value.is(PickleKind::kText)) {
      setting.value = CleanUtf8(tree.Text(value.AsText()).substr(0, kLongestSetting));
    }
    settings->push_back(std::move(setting));
  }
}

}  // namespace

SnapshotBuilder::SnapshotBuilder(const PickleTree* tree, PickleValue root)
    : tree_(*tree),
      root_(root),
      fields_(tree->text_count(), Field::kUnknown),
      texts_(tree->text_count(), kNoText),
      budget_(tree->source_bytes()) {
  for (const FieldName& known : kFieldNames) {
    const uint32_t text = tree_.FindText(known.name);
    if (text != PickleValue::kNotAText) fields_[text] = known.field;
  }
}

absl::StatusOr<Snapshot> SnapshotBuilder::Build() {
  BuildRoot();
  if (budget_.is_exceeded()) {
    return absl::ResourceExhaustedError(
        "the pickle refers to the same records too often for a memory snapshot");
  }
  if (slots_ > kMaxSnapshotDevices) {
    return absl::InvalidArgumentError(Concat("the snapshot has events of ", slots_,
                                             " devices, and vramstow reads at most ",
                                             kMaxSnapshotDevices));
  }
  const bool empty_list =
      root_.is(PickleKind::kList) && tree_.complete() && root_.AsSequence().empty();
  const bool has_events =
      std::ranges::any_of(snapshot_.device.traces, [](const auto& slot) { return !slot.empty(); });
  if (snapshot_.device.segments.empty() && !has_events && !empty_list && !problem_.empty()) {
    return absl::InvalidArgumentError(
        tree_.complete() ? problem_ : Concat(tree_.damage(), "; before that, ", problem_));
  }
  if (!tree_.complete()) {
    snapshot_.complete = false;
    snapshot_.missing.push_back(tree_.damage());
  }
  NoteWhatIsDropped();
  NoteWhatIsMissing();
  CheckSums(snapshot_.device, "segment");
  CheckSums(snapshot_.host, "host segment");
  return std::move(snapshot_);
}

void SnapshotBuilder::BuildRoot() {
  if (root_.is(PickleKind::kList)) {  // the oldest layout
    AddSegments(root_, "", &snapshot_.device);
    if (snapshot_.device.segments.empty() && problem_.empty() && !root_.AsSequence().empty()) {
      problem_ = "the list contains no segments: it is not a memory snapshot";
    }
    return;
  }
  bool is_snapshot = false;
  const std::span<const PickleValue> pairs = root_.AsDict();
  for (size_t i = 0; i + 1 < pairs.size(); i += 2) {
    const PickleValue value = pairs[i + 1];
    // What was read completely is followed by another key.
    const bool is_cut = !tree_.complete() && i + 2 >= pairs.size();
    switch (FieldOf(pairs[i])) {
      case Field::kSegments:
        is_snapshot = true;
        AddSegments(value, "segments", &snapshot_.device);
        break;
      case Field::kDeviceTraces:
        is_snapshot = true;
        AddTraces(value, "device_traces", &snapshot_.device);
        snapshot_.device.is_trace_cut = is_cut;
        break;
      case Field::kAllocatorSettings:
        AddSettings(tree_, value, "", 0, &budget_, &snapshot_.settings);
        break;
      case Field::kExternalAnnotations:
        AddAnnotations(value);
        break;
      case Field::kHostSegments:
        AddSegments(value, "host_segments", &snapshot_.host);
        break;
      case Field::kHostTraces:
        AddTraces(value, "host_traces", &snapshot_.host);
        snapshot_.host.is_trace_cut = is_cut;
        break;
      default:
        break;
    }
  }
  if (is_snapshot && dropped_.empty()) problem_.clear();
  if (!is_snapshot) {
    problem_ = Concat("the pickle holds ", PickleKindName(root_.kind()),
                      " without 'segments' and 'device_traces': it is not a memory snapshot");
  }
}

void SnapshotBuilder::AddSegments(PickleValue list, const char* name, SnapshotSpace* space) {
  const std::span<const PickleValue> records = list.AsSequence();
  for (size_t i = 0; i < records.size() && budget_.Visit(); ++i) {
    if (!ReadSegment(records[i], space)) Drop("segment", Concat(name, "[", i, "]"));
  }
}

void SnapshotBuilder::AddTraces(PickleValue list, const char* name, SnapshotSpace* space) {
  const std::span<const PickleValue> slots = list.AsSequence();
  slots_ = std::max(slots_, slots.size());
  if (slots_ > kMaxSnapshotDevices) return;
  for (size_t slot = 0; slot < slots.size() && budget_.Visit(); ++slot) {
    const std::span<const PickleValue> records = slots[slot].AsSequence();
    std::vector<TraceEntry>& entries = space->traces.emplace_back();
    if (records.size() <= budget_.records_left()) entries.reserve(records.size());
    for (size_t i = 0; i < records.size() && budget_.Visit(); ++i) {
      TraceEntry entry;
      if (ReadEntry(records[i], &entry)) {
        entries.push_back(entry);
        seen_.entries_without_time += entry.time_us == kNoTime;
        seen_.stacks += entry.stack != kNoStack;
      } else {
        Drop("event", Concat(name, "[", slot, "][", i, "]"));
      }
    }
  }
}

void SnapshotBuilder::AddAnnotations(PickleValue list) {
  const std::span<const PickleValue> records = list.AsSequence();
  for (size_t i = 0; i < records.size() && budget_.Visit(); ++i) {
    Annotation annotation;
    if (ReadAnnotation(records[i], &annotation)) {
      snapshot_.annotations.push_back(annotation);
    } else {
      Drop("annotation", Concat("external_annotations[", i, "]"));
    }
  }
}

void SnapshotBuilder::Drop(const char* kind, const std::string& where) {
  Dropped& dropped = dropped_[kind];
  if (dropped.count++ == 0) dropped.first = Concat(where, ": ", problem_);
  problem_ = Concat("no ", kind, " in it can be used (", dropped.first, ")");
}

void SnapshotBuilder::NoteWhatIsDropped() {
  for (const auto& [kind, dropped] : dropped_) {
    snapshot_.missing.push_back(Concat(NumberOf(dropped.count, kind), " could not be used and ",
                                       dropped.count == 1 ? "was" : "were", " left out, the first ",
                                       dropped.first));
  }
}

void SnapshotBuilder::NoteWhatIsMissing() {
  std::vector<std::string>& missing = snapshot_.missing;
  uint64_t entries = 0;
  for (const auto& slot : snapshot_.device.traces) entries += slot.size();
  for (const auto& slot : snapshot_.host.traces) entries += slot.size();
  if (entries == 0) {
    missing.emplace_back(
        "no events: torch.cuda.memory._record_memory_history() did not record when the snapshot "
        "was "
        "made");
  } else if (seen_.entries_without_time != 0) {
    missing.push_back(
        Concat("no time in ", seen_.entries_without_time, " of ", NumberOf(entries, "event")));
  }
  if (snapshot_.device.segments.empty()) missing.emplace_back("no segments");
  if (seen_.segments_without_pool != 0) {
    missing.push_back(Concat("no pool id in ", NumberOf(seen_.segments_without_pool, "segment"),
                             ", assumed to be the default pool"));
  }
  if (seen_.blocks_without_address != 0) {
    missing.push_back(Concat("no address in ", NumberOf(seen_.blocks_without_address, "block"),
                             ", counted from the start of their segments"));
  }
  if (seen_.blocks_without_requested != 0) {
    missing.push_back(Concat("no requested size in ",
                             NumberOf(seen_.blocks_without_requested, "block"),
                             ", assumed to be the block's size"));
  }
  if (seen_.stacks == 0) missing.emplace_back("no call stacks");
}

// Checks for each segment that the sizes of its blocks add up to the sums in its record, as they do
// in PyTorch's own snapshots.
void SnapshotBuilder::CheckSums(const SnapshotSpace& space, const char* what) {
  uint64_t untiled = 0;
  uint64_t unequal = 0;
  for (const SnapshotSegment& segment : space.segments) {
    uint64_t total = 0;
    uint64_t allocated = 0;
    for (const SnapshotBlock& block : space.BlocksOf(segment)) {
      total += block.size;
      if (block.state == BlockState::kActiveAllocated) allocated += block.size;
    }
    untiled += total != segment.total_size;
    unequal += allocated != segment.allocated_size;
  }
  if (untiled != 0) {
    snapshot_.missing.push_back(
        Concat("the sizes of the blocks do not add up to total_size in ", NumberOf(untiled, what)));
  }
  if (unequal != 0) {
    snapshot_.missing.push_back(
        Concat("the live blocks do not add up to allocated_size in ", NumberOf(unequal, what)));
  }
}

}  // namespace vramstow
