#include <optional>

#include "tools/formats/snapshot_builder.h"
#include "tools/formats/text_helpers.h"

namespace vramstow {
namespace {

// The pairs of a dict, for use as `for (const auto& [key, value] : …)`.
class Pairs {
 public:
  explicit Pairs(std::span<const PickleValue> items) : items_(items) {}
  struct Pair {
    PickleValue key;
    PickleValue value;
  };
  class Iterator {
   public:
    explicit Iterator(const PickleValue* at) : at_(at) {}
    Pair operator*() const { return {at_[0], at_[1]}; }
    Iterator& operator++() {
      at_ += 2;
      return *this;
    }
    bool operator!=(const Iterator& other) const { return at_ != other.at_; }

   private:
    const PickleValue* at_;
  };
  Iterator begin() const { return Iterator(items_.data()); }
  Iterator end() const { return Iterator(items_.data() + items_.size() / 2 * 2); }

 private:
  std::span<const PickleValue> items_;
};

constexpr int32_t kLargestDevice = kMaxSnapshotDevices - 1;
// A stack has as many frames as vramstow's own recorder keeps of one
// (tracer/capture/stack_frame.h).
constexpr size_t kMaxFrames = 4096;

// Reads the fields that only snapshots exported by vramstow have.
void ReadOwnKey(Field key, PickleValue value, TraceEntry* entry) {
  if (key == Field::kBlockSize) entry->block_size = value.AsUnsigned().value_or(0);
  if (key == Field::kIsDriver) entry->is_driver = value.is(PickleKind::kTrue);
}

}  // namespace

bool SnapshotBuilder::Number(PickleValue value, const char* field, uint64_t* number) {
  const std::optional<uint64_t> read = value.AsUnsigned();
  if (!read) {
    problem_ = Concat(field, " is ", PickleKindName(value.kind()), ", not a size or an address");
    return false;
  }
  *number = *read;
  return true;
}

bool SnapshotBuilder::SmallNumber(PickleValue value, const char* field, int32_t* number) {
  const std::optional<int64_t> read = value.AsSigned();
  if (!read || *read < -1 || *read > kLargestDevice) {
    problem_ = Concat(field, " is not the number of a device");
    return false;
  }
  *number = static_cast<int32_t>(*read);
  return true;
}

TextId SnapshotBuilder::TextOf(PickleValue value) {
  const uint32_t text = value.AsText();
  if (text >= texts_.size()) return kNoText;
  if (texts_[text] == kNoText) texts_[text] = snapshot_.texts.Intern(tree_.Text(text));
  return texts_[text];
}

bool SnapshotBuilder::ReadPool(PickleValue pair, PoolId* pool) {
  const std::span<const PickleValue> parts = pair.AsSequence();
  if (parts.size() != 2) {
    problem_ = "the pool id is not a pair";
    return false;
  }
  return Number(parts[0], "the pool id", &pool->first) &&
         Number(parts[1], "the pool id", &pool->second);
}

bool SnapshotBuilder::ReadSegment(PickleValue dict, SnapshotSpace* space) {
  SnapshotSegment segment;
  PickleValue blocks;
  bool has_address = false;
  bool has_size = false;
  bool has_pool = false;
  bool ok = true;
  for (const auto& [key, value] : Pairs(budget_.PairsOf(dict))) {
    switch (FieldOf(key)) {
      case Field::kDevice:
        ok = ok && SmallNumber(value, "device", &segment.device);
        break;
      case Field::kAddress:
        has_address = true;
        ok = ok && Number(value, "address", &segment.address);
        break;
      case Field::kTotalSize:
        has_size = true;
        ok = ok && Number(value, "total_size", &segment.total_size);
        break;
      case Field::kAllocatedSize:
        ok = ok && Number(value, "allocated_size", &segment.allocated_size);
        break;
      case Field::kActiveSize:
        ok = ok && Number(value, "active_size", &segment.active_size);
        break;
      case Field::kRequestedSize:
        ok = ok && Number(value, "requested_size", &segment.requested_size);
        break;
      case Field::kStream:
        segment.stream = static_cast<uint64_t>(value.AsSigned().value_or(0));
        if (value.is(PickleKind::kUnsigned)) segment.stream = *value.AsUnsigned();
        break;
      case Field::kSegmentType:
        segment.type = SegmentType::kUnknown;
        if (tree_.Text(value.AsText()) == "small") segment.type = SegmentType::kSmall;
        if (tree_.Text(value.AsText()) == "large") segment.type = SegmentType::kLarge;
        break;
      case Field::kSegmentPoolId:
        has_pool = true;
        ok = ok && ReadPool(value, &segment.pool);
        break;
      case Field::kIsExpandable:
        segment.is_expandable = value.is(PickleKind::kTrue);
        break;
      case Field::kFrames:
        segment.stack = ReadStack(value);
        break;
      case Field::kBlocks:
        blocks = value;
        break;
      default:
        break;
    }
  }
  if (!ok) return false;
  if (!has_address || !has_size) {
    problem_ = has_address ? "total_size is missing" : "address is missing";
    return false;
  }
  if (segment.total_size > ~uint64_t{0} - segment.address) {
    problem_ = "it ends after the last address";
    return false;
  }
  seen_.segments_without_pool += !has_pool;
  seen_.stacks += segment.stack != kNoStack;
  segment.first_block = space->blocks.size();
  uint64_t address = segment.address;
  const std::span<const PickleValue> records = blocks.AsSequence();
  for (size_t i = 0; i < records.size() && budget_.Visit(); ++i) {
    SnapshotBlock block;
    if (ReadBlock(records[i], address, &block)) {
      address = block.address + block.size;
      space->blocks.push_back(block);
    } else {
      Drop("block", Concat("block ", i, " of the segment at ", HexText(segment.address)));
    }
  }
  segment.block_count = space->blocks.size() - segment.first_block;
  space->segments.push_back(segment);
  return true;
}

// Reads one block. If the block has no address, it begins at `address`, which is the end of the
// block before it.
bool SnapshotBuilder::ReadBlock(PickleValue dict, uint64_t address, SnapshotBlock* block) {
  bool has_address = false;
  bool has_size = false;
  bool has_requested = false;
  bool ok = true;
  uint32_t state = PickleValue::kNotAText;
  PickleValue history;
  for (const auto& [key, value] : Pairs(budget_.PairsOf(dict))) {
    switch (FieldOf(key)) {
      case Field::kAddress:
        has_address = true;
        ok = ok && Number(value, "address", &block->address);
        break;
      case Field::kSize:
        has_size = true;
        ok = ok && Number(value, "size", &block->size);
        break;
      case Field::kRequestedSize:
        has_requested = true;
        ok = ok && Number(value, "requested_size", &block->requested);
        break;
      case Field::kState:
        state = value.AsText();
        break;
      case Field::kFrames:
        block->stack = ReadStack(value);
        break;
      case Field::kHistory:
        history = value;
        break;
      default:
        break;
    }
  }
  if (!ok) return false;
  const std::string_view name = tree_.Text(state);
  if (name == "active_allocated") {
    block->state = BlockState::kActiveAllocated;
  } else if (name == "active_pending_free" || name == "active_awaiting_free") {
    block->state = BlockState::kActivePendingFree;
  } else if (name != "inactive") {
    problem_ = Concat("its state is ", Quoted(name));
    return false;
  }
  if (!has_size) {
    problem_ = "size is missing";
    return false;
  }
  if (!has_address) block->address = address;
  if (block->size > ~uint64_t{0} - block->address) {
    problem_ = "it ends after the last address";
    return false;
  }
  ReadHistory(history, block, &has_requested);
  if (!has_requested) block->requested = block->size;
  seen_.blocks_without_address += !has_address;
  seen_.blocks_without_requested += !has_requested;
  seen_.stacks += block->stack != kNoStack;
  return true;
}

// Reads the history of a block in the layout of 2023. The newest use of the block comes first.
void SnapshotBuilder::ReadHistory(PickleValue list, SnapshotBlock* block, bool* has_requested) {
  const std::span<const PickleValue> uses = list.AsSequence();
  if (uses.empty()) return;
  for (const auto& [key, value] : Pairs(budget_.PairsOf(uses.front()))) {
    const Field field = FieldOf(key);
    if (field == Field::kFrames && block->stack == kNoStack) block->stack = ReadStack(value);
    if (field == Field::kRealSize && !*has_requested && value.AsUnsigned()) {
      block->requested = *value.AsUnsigned();
      *has_requested = true;
    }
  }
}

bool SnapshotBuilder::ReadAction(PickleValue text, TraceAction* action) {
  const std::string_view name = tree_.Text(text.AsText());
  for (int i = 0; i < kTraceActions; ++i) {
    *action = static_cast<TraceAction>(i);
    if (name == TraceActionName(*action)) return true;
  }
  problem_ = Concat("its action is ", Quoted(name));
  return false;
}

bool SnapshotBuilder::ReadEntry(PickleValue dict, TraceEntry* entry) {
  PickleValue action;
  bool ok = true;
  bool has_size = false;
  bool has_address = false;
  for (const auto& [key, value] : Pairs(budget_.PairsOf(dict))) {
    switch (FieldOf(key)) {
      case Field::kAction:
        action = value;
        break;
      case Field::kAddr:
      case Field::kDeviceFree:
        has_address = true;
        ok = ok && Number(value, "addr", &entry->address);
        break;
      case Field::kSize:
        has_size = true;
        ok = ok && Number(value, "size", &entry->size);
        break;
      case Field::kStream:
        entry->stream = static_cast<uint64_t>(value.AsSigned().value_or(0));
        if (value.is(PickleKind::kUnsigned)) entry->stream = *value.AsUnsigned();
        break;
      case Field::kTimeUs:
        entry->time_us = value.AsSigned().value_or(kNoTime);
        break;
      case Field::kPoolId:
      case Field::kSegmentPoolId:
        ok = ok && ReadPool(value, &entry->pool);
        break;
      case Field::kFrames:
        entry->stack = ReadStack(value);
        break;
      case Field::kCompileContext:
        entry->compile_context = TextOf(value);
        break;
      case Field::kUserMetadata:
        entry->user_metadata = TextOf(value);
        break;
      default:
        ReadOwnKey(FieldOf(key), value, entry);
    }
  }
  if (!ok || !ReadAction(action, &entry->action)) return false;
  const bool needs_place =
      entry->action != TraceAction::kSnapshot && entry->action != TraceAction::kAnnotate;
  if (needs_place && (!has_size || !has_address)) {
    problem_ = has_size ? "addr is missing" : "size is missing";
    return false;
  }
  return true;
}

bool SnapshotBuilder::ReadAnnotation(PickleValue dict, Annotation* annotation) {
  std::string_view stage;
  for (const auto& [key, value] : Pairs(budget_.PairsOf(dict))) {
    switch (FieldOf(key)) {
      case Field::kName:
        annotation->name = TextOf(value);
        break;
      case Field::kStage:
        stage = tree_.Text(value.AsText());
        break;
      case Field::kDevice:
        if (!SmallNumber(value, "device", &annotation->device)) return false;
        break;
      case Field::kTimeUs:
        annotation->time_us = value.AsSigned().value_or(kNoTime);
        break;
      default:
        break;
    }
  }
  if (stage != "START" && stage != "END") {
    problem_ = Concat("its stage is ", Quoted(stage));
    return false;
  }
  annotation->stage = stage == "START" ? AnnotationStage::kStart : AnnotationStage::kEnd;
  return true;
}

Frame SnapshotBuilder::ReadFrame(PickleValue dict) {
  Frame frame;
  for (const auto& [key, value] : Pairs(budget_.PairsOf(dict))) {
    switch (FieldOf(key)) {
      case Field::kName:
        frame.name = TextOf(value);
        break;
      case Field::kFilename:
        frame.filename = TextOf(value);
        break;
      case Field::kLine:
        frame.line = static_cast<uint32_t>(value.AsUnsigned().value_or(0));
        break;
      case Field::kFxNodeOp:
        frame.fx_node_op = TextOf(value);
        break;
      case Field::kFxNodeName:
        frame.fx_node_name = TextOf(value);
        break;
      case Field::kFxNodeInfo:
        frame.fx_node_info = TextOf(value);
        break;
      case Field::kFxOriginalTrace:
        frame.fx_original_trace = TextOf(value);
        break;
      default:
        break;
    }
  }
  return frame;
}

StackId SnapshotBuilder::ReadStack(PickleValue list) {
  const std::span<const PickleValue> records = list.AsSequence();
  if (records.empty()) return kNoStack;
  const auto [place, is_new] = stacks_.try_emplace(list.identity(), kNoStack);
  if (!is_new) return place->second;
  frame_buffer_.clear();
  for (const PickleValue record : records) {
    if (frame_buffer_.size() == kMaxFrames || !budget_.Spend(1)) break;
    if (!record.is(PickleKind::kDict)) continue;
    const auto known = frames_.find(record.identity());
    if (known != frames_.end()) {
      frame_buffer_.push_back(known->second);
      continue;
    }
    const FrameId frame = snapshot_.stacks.InternFrame(ReadFrame(record));
    frames_.emplace(record.identity(), frame);
    frame_buffer_.push_back(frame);
  }
  const StackId stack = snapshot_.stacks.InternStack(frame_buffer_);
  place->second = stack;
  return stack;
}

}  // namespace vramstow
