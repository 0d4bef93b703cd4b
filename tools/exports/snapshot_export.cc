#include "tools/exports/snapshot_export.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/btree_map.h"
#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "base/driver_result.h"
#include "base/typed_event.h"
#include "tools/analysis/accounts/levels.h"
#include "tools/formats/block_rounding.h"

namespace vramstow {
namespace {

constexpr uint64_t kSmallSegment = uint64_t{2} << 20;  // size of PyTorch's segments of small blocks

class Builder {
 public:
  explicit Builder(EventSource* source)
      : source_(*source),
        opening_call_(source->OpeningCall()),
        reports_free_completed_(source->ReportsFreeCompleted()) {
    const auto start = source->facts().find("process.start_time");
    if (start == source->facts().end()) return;
    uint64_t nanoseconds = 0;
    const std::string& text = start->second;
    std::from_chars(text.data(), text.data() + text.size(), nanoseconds);
    start_us_ = static_cast<int64_t>(nanoseconds / 1000);
  }

  void Add(const Event& event) {
    if (event.kind == EventKind::kMark) return AddMark(event);
    if (event.layer == Layer::kPool) return AddPool(event);
    if (event.kind == EventKind::kFreeCompleted) return AddCompleted(event);
    if (event.kind == EventKind::kFree) return AddFree(event);
    if (event.kind == EventKind::kMemoryInfo && event.device != kNoDevice) {
      free_[event.device] = DeviceMemoryInfo::Of(event).free_bytes;
    }
    if (event.kind == EventKind::kRefused) return AddRefused(event);
    if (event.kind == EventKind::kAllocate && IsDeviceMemory(event.memory)) AddAllocate(event);
  }

  Snapshot Finish() {
    JoinMappings();
    for (auto& [key, segment] : segments_) PlaceBlocks(&segment);
    if (const size_t blocks = blocks_.size() + pending_.size(); blocks > placed_) {
      snapshot_.missing.push_back(
          absl::StrCat(blocks - placed_,
                       " blocks are in no segment of the trace, and appear only in the events"));
    }
    if (left_out_ > 0) {
      snapshot_.missing.push_back(absl::StrCat(
          "the first ", left_out_, " events are left out, as PyTorch's ring buffer does"));
    }
    return std::move(snapshot_);
  }

 private:
  struct Block {
    uint64_t size = 0;
    uint64_t requested = 0;
    uint64_t stream = 0;
    uint64_t sequence = 0;  // sequence of its free
    StackId stack = kNoStack;
    int32_t device = 0;
    bool alone = false;  // the block is a segment of its own
    bool is_driver = false;
  };
  struct Segment {
    uint64_t address = 0;
    uint64_t size = 0;
    uint64_t stream = 0;
    StackId stack = kNoStack;
    int32_t device = 0;
    bool grows = false;
    bool belongs_to_pool = false;
    uint64_t object = 0;  // the physical memory that is mapped here; 0 if it is not known
  };

  // Returns the segment of a block that is a segment of its own.
  static Segment OwnSegmentOf(uint64_t address, const Block& block) {
    Segment segment;
    segment.address = address;
    segment.size = block.size;
    segment.stream = block.stream;
    segment.stack = block.stack;
    segment.device = block.device;
    return segment;
  }
  static uint64_t StreamOf(const Event& event) {
    return event.stream == kUnknownStream ? 0 : event.stream;
  }
  static int32_t DeviceOf(const Event& event) { return std::max<int32_t>(0, event.device); }
  bool IsOpening(const Event& event) const {
    return opening_call_.has_value() && event.call == *opening_call_;
  }

  StackId StackOf(uint32_t stack) {
    if (stack == 0) return kNoStack;
    const auto [known, inserted] = stacks_.try_emplace(stack, kNoStack);
    if (!inserted) return known->second;
    std::vector<FrameId> frames;
    for (const CallFrame& call : source_.Frames(stack)) {
      Frame frame;
      frame.name = snapshot_.texts.Intern(call.function);
      frame.filename = snapshot_.texts.Intern(call.file);
      frame.line = call.line;
      frames.push_back(snapshot_.stacks.InternFrame(frame));
    }
    return known->second = snapshot_.stacks.InternStack(frames);
  }

  // PyTorch writes the requested size, and a reader rounds it up as PyTorch does. If the rounded
  // size is not the size of the block, an additional key of our own stores the block's size.
  void EmitBlock(const Event& event, TraceAction action, uint64_t address, const Block& block,
                 StackId stack) {
    const bool is_segment =
        action == TraceAction::kSegmentAlloc || action == TraceAction::kSegmentFree;
    TraceEntry* entry = Emit(event, action, block.device, address,
                             is_segment ? block.size : block.requested, block.stream, stack);
    if (entry == nullptr) return;
    entry->is_driver = block.is_driver;
    if (!is_segment && rounding_.Round(block.requested) != block.size) {
      entry->block_size = block.size;
    }
  }

  // Returns null if the event describes memory that existed before the recording began.
  TraceEntry* Emit(const Event& event, TraceAction action, int32_t device, uint64_t address,
                   uint64_t size, uint64_t stream, StackId stack) {
    if (IsOpening(event)) return nullptr;
    auto& traces = snapshot_.device.traces;
    if (traces.size() <= static_cast<size_t>(device)) traces.resize(device + size_t{1});
    std::vector<TraceEntry>& entries = traces[static_cast<size_t>(device)];
    if (entries.size() == 2 * kMaxEntries) {
      entries.erase(entries.begin(), entries.begin() + static_cast<ptrdiff_t>(kMaxEntries));
      left_out_ += kMaxEntries;
    }
    TraceEntry& entry = entries.emplace_back();
    entry.action = action;
    entry.address = address;
    entry.size = size;
    entry.stream = stream;
    entry.stack = stack;
    entry.time_us = start_us_ + static_cast<int64_t>(event.time_ns / 1000);
    return &entry;
  }

  void AddMark(const Event& event) {
    Annotation annotation;
    annotation.name = snapshot_.texts.Intern(source_.MarkText(event));
    annotation.time_us = start_us_ + static_cast<int64_t>(event.time_ns / 1000);
    annotation.device = DeviceOf(event);
    annotation.stage = AnnotationStage::kStart;
    const MarkKind kind = MarkEvent::Of(event).kind;
    // PyTorch's annotations are ranges, so a moment is one that ends when it begins.
    if (kind != MarkKind::kRangeEnds) snapshot_.annotations.push_back(annotation);
    if (kind == MarkKind::kRangeBegins) return;
    annotation.stage = AnnotationStage::kEnd;
    snapshot_.annotations.push_back(annotation);
  }

  void AddPool(const Event& event) {
    if (event.kind == EventKind::kMemoryInfo && event.device != kNoDevice) {
      free_[event.device] = DeviceMemoryInfo::Of(event).free_bytes;
    }
    const bool grows = event.kind == EventKind::kMap;
    if (grows || event.kind == EventKind::kAllocate) {
      // Physical memory has no address until it is mapped, so it does not become a segment here.
      if (event.result != 0 || event.memory == MemoryKind::kHostPinned) return;
      if (!grows && event.memory == MemoryKind::kPhysical) return;
      const uint64_t object = grows ? event.object : 0;
      if (object != 0) Displace(event, object, event.address);
      displaced_.erase(event.address);
      const Segment segment = {.address = event.address,
                               .size = event.size,
                               .stream = StreamOf(event),
                               .stack = StackOf(event.stack),
                               .device = DeviceOf(event),
                               .grows = grows,
                               .belongs_to_pool = true,
                               .object = object};
      segments_[event.address] = segment;
      Emit(event, grows ? TraceAction::kSegmentMap : TraceAction::kSegmentAlloc, segment.device,
           event.address, event.size, segment.stream, segment.stack);
      return;
    }
    if (event.kind == EventKind::kFree && event.memory != MemoryKind::kPhysical) {
      const auto known = segments_.find(event.address);
      if (known == segments_.end()) return;
      Emit(event, TraceAction::kSegmentFree, known->second.device, event.address,
           known->second.size, known->second.stream, StackOf(event.stack));
      segments_.erase(known);
    } else if (event.kind == EventKind::kUnmap) {
      displaced_.erase(displaced_.lower_bound(event.address),
                       displaced_.lower_bound(event.address + event.size));
      Unmap(event);
    }
  }

  // A pool may map physical memory at a further address, beside memory from other places, and leave
  // it mapped at the earlier one. A snapshot has no physical memory, only segments, and must not
  // have the same memory twice. So the segment of the physical memory `object` is where it is used
  // last, which from now on is `address`, and at the earlier address only where blocks live.
  void Displace(const Event& event, uint64_t object, uint64_t address) {
    const auto [known, is_new] = mapped_at_.try_emplace(object, address);
    const auto earlier = segments_.find(std::exchange(known->second, address));
    if (is_new || earlier == segments_.end() || earlier->second.object != object) return;
    displaced_[earlier->first] = earlier->second;
    Event unmap = event;
    unmap.address = earlier->second.address;
    const uint64_t to = unmap.address + earlier->second.size;
    std::vector<std::pair<uint64_t, uint64_t>> live;  // begin and end of each block
    AddRanges(blocks_, unmap.address, to, &live);
    AddRanges(pending_, unmap.address, to, &live);
    std::ranges::sort(live);
    live.emplace_back(to, to);
    for (const auto& [begin, end] : live) {
      if (begin > unmap.address) {
        unmap.size = begin - unmap.address;
        Unmap(unmap);
      }
      unmap.address = std::max(unmap.address, end);
    }
  }

  // Gives a new block its segment again where that was displaced.
  void BringBack(const Event& block) {
    auto next = displaced_.upper_bound(block.address);
    if (next != displaced_.begin()) --next;
    std::vector<Segment> back;
    for (; next != displaced_.end() && next->first < block.address + block.size; ++next) {
      if (next->first + next->second.size > block.address) back.push_back(next->second);
    }
    for (const Segment& segment : back) {
      displaced_.erase(segment.address);
      Displace(block, segment.object, segment.address);
      Event rest = block;
      rest.address = segment.address;
      rest.size = segment.size;
      Unmap(rest);
      segments_[segment.address] = segment;
      Emit(block, TraceAction::kSegmentMap, segment.device, segment.address, segment.size,
           segment.stream, segment.stack);
    }
  }

  // Adds the ranges of those blocks that lie in [from, to), or in a part of it.
  static void AddRanges(const absl::btree_map<uint64_t, Block>& blocks, uint64_t from, uint64_t to,
                        std::vector<std::pair<uint64_t, uint64_t>>* ranges) {
    auto block = blocks.upper_bound(from);
    if (block != blocks.begin()) --block;
    for (; block != blocks.end() && block->first < to; ++block) {
      const uint64_t end = block->first + block->second.size;
      if (end > from) ranges->emplace_back(block->first, end);
    }
  }

  // A pool may unmap a part of a mapping, or several mappings at once.
  void Unmap(const Event& event) {
    const uint64_t to = event.address + event.size;
    auto next = segments_.upper_bound(event.address);
    if (next != segments_.begin()) --next;
    std::vector<Segment> left;
    Segment cut;
    while (next != segments_.end() && next->first < to) {
      const Segment segment = next->second;
      const uint64_t end = segment.address + segment.size;
      if (end <= event.address) {
        ++next;
        continue;
      }
      next = segments_.erase(next);
      cut = segment;
      Segment rest = segment;
      if (segment.address < event.address) {
        rest.size = event.address - segment.address;
        left.push_back(rest);
      }
      if (to < end) {
        rest.address = to;
        rest.size = end - to;
        left.push_back(rest);
      }
    }
    if (cut.size == 0) return;
    for (const Segment& rest : left) segments_[rest.address] = rest;
    Emit(event, TraceAction::kSegmentUnmap, cut.device, event.address, event.size, cut.stream,
         StackOf(event.stack));
  }

  // Returns the segment in which a block lies, or null.
  const Segment* SegmentOf(uint64_t address, uint64_t size) const {
    auto after = segments_.upper_bound(address);
    if (after == segments_.begin()) return nullptr;
    const Segment& segment = (--after)->second;
    // A block of a pool may extend beyond the mapping in which it begins.
    const bool is_in = address - segment.address < segment.size &&
                       (segment.grows || size <= segment.size - (address - segment.address));
    return is_in ? &segment : nullptr;
  }

  void AddAllocate(const Event& event) {
    const int32_t device = DeviceOf(event);
    const uint64_t requested = event.requested != 0 ? event.requested : event.size;
    const StackId stack = StackOf(event.stack);
    if (event.result != 0) {
      if (event.result != kOutOfMemoryResult) return;
      TraceEntry* entry = Emit(event, TraceAction::kOutOfMemory, device, free_[event.device],
                               requested, StreamOf(event), stack);
      if (entry != nullptr) entry->is_driver = event.layer == Layer::kDriver;
      return;
    }
    Block block = {event.size, requested, StreamOf(event), 0, stack, device};
    if (const auto known = blocks_.find(event.address); known != blocks_.end()) {
      End(event, known->first, known->second);
      blocks_.erase(known);
    }
    if (!displaced_.empty()) BringBack(event);
    const Segment* const segment = SegmentOf(event.address, event.size);
    block.alone = segment == nullptr;
    // The memory of a block in a pool's segment was requested from the driver by the pool.
    block.is_driver =
        event.layer == Layer::kDriver && (segment == nullptr || !segment->belongs_to_pool);
    if (block.alone) {
      segments_[event.address] = OwnSegmentOf(event.address, block);
      EmitBlock(event, TraceAction::kSegmentAlloc, event.address, block, stack);
    }
    EmitBlock(event, TraceAction::kAlloc, event.address, block, stack);
    blocks_[event.address] = block;
  }

  void AddFree(const Event& event) {
    const auto known = blocks_.find(event.address);
    if (known == blocks_.end()) return;
    Block block = known->second;
    blocks_.erase(known);
    block.sequence = event.sequence;
    EmitBlock(event, TraceAction::kFreeRequested, event.address, block, StackOf(event.stack));
    if (reports_free_completed_ && event.layer == Layer::kFramework) {
      pending_[event.address] = block;
      return;
    }
    End(event, event.address, block);
    last_freed_ = {event.address, block};
  }

  // Ends the block. If the block was written as a segment of its own, that segment ends, too.
  void End(const Event& event, uint64_t address, const Block& block) {
    EmitBlock(event, TraceAction::kFreeCompleted, address, block, kNoStack);
    if (!block.alone) return;
    EmitBlock(event, TraceAction::kSegmentFree, address, block, kNoStack);
    segments_.erase(address);
  }

  void AddCompleted(const Event& event) {
    const auto known = pending_.find(event.address);
    if (known == pending_.end()) return;
    End(event, event.address, known->second);
    pending_.erase(known);
  }

  // The driver refused a free, so the block continues to exist; it is written as a new allocation.
  void AddRefused(const Event& event) {
    const auto& [address, block] = last_freed_;
    if (block.sequence == 0 || block.sequence != RefusedSequence(event) ||
        blocks_.contains(address))
      return;
    if (block.alone) {
      segments_[address] = OwnSegmentOf(address, block);
      EmitBlock(event, TraceAction::kSegmentAlloc, address, block, block.stack);
    }
    EmitBlock(event, TraceAction::kAlloc, address, block, block.stack);
    blocks_[address] = block;
  }

  void JoinMappings() {
    for (auto segment = segments_.begin(); segment != segments_.end();) {
      auto next = std::next(segment);
      if (next == segments_.end()) break;
      Segment& first = segment->second;
      const Segment& second = next->second;
      if (first.grows && second.grows && first.device == second.device &&
          first.stream == second.stream && first.address + first.size == second.address) {
        first.size += second.size;
        const uint64_t address = first.address;
        segments_.erase(next);
        segment = segments_.find(address);
      } else {
        segment = segments_.find(second.address);
      }
    }
  }

  void PlaceBlocks(Segment* from) {
    SnapshotSegment segment;
    segment.address = from->address;
    segment.total_size = from->size;
    segment.stream = from->stream;
    segment.device = from->device;
    segment.stack = from->stack;
    segment.is_expandable = from->grows;
    segment.type = from->size == kSmallSegment ? SegmentType::kSmall : SegmentType::kLarge;
    segment.first_block = snapshot_.device.blocks.size();
    const uint64_t to = from->address + from->size;
    std::vector<SnapshotBlock> blocks;
    const auto place = [&](const absl::btree_map<uint64_t, Block>& of, BlockState state) {
      for (auto block = of.lower_bound(from->address); block != of.end() && block->first < to;
           ++block) {
        if (block->second.size > to - block->first) continue;
        blocks.push_back({block->first, block->second.size, block->second.requested,
                          block->second.stack, state});
        segment.active_size += block->second.size;
        segment.requested_size += block->second.requested;
        if (state == BlockState::kActiveAllocated) segment.allocated_size += block->second.size;
      }
    };
    place(blocks_, BlockState::kActiveAllocated);
    place(pending_, BlockState::kActivePendingFree);
    placed_ += blocks.size();
    std::ranges::sort(blocks, {}, &SnapshotBlock::address);
    segment.block_count = blocks.size();
    snapshot_.device.blocks.insert(snapshot_.device.blocks.end(), blocks.begin(), blocks.end());
    snapshot_.device.segments.push_back(segment);
  }

  EventSource& source_;
  Snapshot snapshot_;
  const BlockRounding rounding_{std::vector<AllocatorSetting>()};
  std::optional<uint16_t> opening_call_;
  bool reports_free_completed_;
  int64_t start_us_ = 0;
  std::map<int16_t, uint64_t> free_;  // latest known free bytes of each device
  absl::flat_hash_map<uint32_t, StackId> stacks_;
  absl::btree_map<uint64_t, Segment> segments_;
  absl::flat_hash_map<uint64_t, uint64_t> mapped_at_;  // where physical memory has its segment
  // Segments whose physical memory has its segment elsewhere, although it is mapped here, too.
  absl::btree_map<uint64_t, Segment> displaced_;
  absl::btree_map<uint64_t, Block> blocks_;
  absl::btree_map<uint64_t, Block> pending_;
  std::pair<uint64_t, Block> last_freed_{0, Block()};
  size_t placed_ = 0;
  size_t left_out_ = 0;
};

}  // namespace

Snapshot SnapshotOf(EventSource* source) {
  Builder builder(source);
  Event event;
  while (source->Next(&event)) {
    event.stack = source->Stack();
    builder.Add(event);
  }
  return builder.Finish();
}

}  // namespace vramstow
