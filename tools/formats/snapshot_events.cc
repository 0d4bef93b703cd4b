#include "tools/formats/snapshot_events.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <utility>

#include "base/driver_result.h"
#include "base/typed_event.h"
#include "tools/formats/text_helpers.h"

namespace vramstow {
namespace {

// Values of Event::call. 0 means an unknown action; the actions of a snapshot begin at 1, and the
// other values follow them.
constexpr uint16_t kFirstAction = 1;
constexpr uint16_t kWindowStart = kFirstAction + kTraceActions;
constexpr uint16_t kAnnotationStart = kWindowStart + 1;
constexpr uint16_t kAnnotationEnd = kWindowStart + 2;
constexpr uint16_t kWindowEnd = kWindowStart + 3;

bool IsEndOf(const Annotation& begin, const Annotation& other) {
  return other.stage == AnnotationStage::kEnd && other.name == begin.name &&
         other.time_us == begin.time_us && other.device == begin.device;
}

uint16_t CallOf(TraceAction action) {
  return static_cast<uint16_t>(kFirstAction + static_cast<uint16_t>(action));
}

// Combines the two numbers of a private pool's id to one. Returns 0 for the default pool.
uint64_t PoolNumber(PoolId pool) { return pool.first << 32 ^ pool.second; }

// False if the recording has entries for completed frees, and none for the requests to free. This
// is recognised by a block that the recording allocates and whose free completes before any entry
// for a request. True otherwise.
bool HasRequests(const std::vector<TraceEntry>& entries) {
  absl::flat_hash_set<uint64_t> live;
  for (const TraceEntry& entry : entries) {
    if (entry.action == TraceAction::kFreeRequested) return true;
    if (entry.action == TraceAction::kAlloc) live.insert(entry.address);
    if (entry.action == TraceAction::kFree) live.erase(entry.address);
    if (entry.action == TraceAction::kFreeCompleted && live.contains(entry.address)) return false;
  }
  return true;
}

}  // namespace

// The state of one address after the events that have been applied so far.
struct SnapshotEvents::Life {
  enum State : uint8_t { kLive, kPending, kFreed };
  State state;
  bool opened;               // allocated before the window
  size_t alloc_entry = 0;    // valid unless `opened`
  size_t request_entry = 0;  // valid if requested
  bool requested = false;
};

std::string_view SnapshotEvents::CallName(uint16_t call) {
  if (call == kWindowStart) return "window_start";
  if (call == kAnnotationStart) return "annotation_start";
  if (call == kAnnotationEnd) return "annotation_end";
  if (call == kWindowEnd) return "window_end";
  if (call < kFirstAction || call > kWindowEnd) return "unknown";
  return TraceActionName(static_cast<TraceAction>(call - kFirstAction));
}

SnapshotEvents::SnapshotEvents(const Snapshot* snapshot, int32_t device, SnapshotPart part)
    : snapshot_(*snapshot),
      space_(part == SnapshotPart::kHost ? snapshot->host : snapshot->device),
      host_(part == SnapshotPart::kHost),
      rounding_(snapshot->settings) {
  int32_t slot_count = static_cast<int32_t>(space_.traces.size());
  static const std::vector<TraceEntry> no_entries;
  for (const SnapshotSegment& segment : space_.segments) {
    slot_count = std::max(slot_count, segment.device + 1);
  }
  for (int32_t slot = 0; slot < slot_count; ++slot) {
    if (device != kAllDevices && device != slot) continue;
    const bool has_entries = static_cast<size_t>(slot) < space_.traces.size();
    slots_.push_back(
        {.entries = has_entries ? &space_.traces[static_cast<size_t>(slot)] : &no_entries,
         .device = slot,
         .exact_sizes = {},
         .sudden_ends = {},
         .held = {}});
  }
  const int32_t first = slots_.empty() ? 0 : slots_.front().device;
  for (const SnapshotSegment& segment : space_.segments) {
    const int64_t slot = int64_t{segment.device} - first;
    if (slot < 0 || static_cast<size_t>(slot) >= slots_.size()) continue;
    slots_[static_cast<size_t>(slot)].segments.push_back(&segment);
  }
  if (!host_) {
    for (const Annotation& annotation : snapshot_.annotations) {
      if (annotation.time_us == kNoTime) continue;
      if (device == kAllDevices || annotation.device == device) annotations_.push_back(&annotation);
    }
    std::ranges::stable_sort(annotations_, {}, &Annotation::time_us);
  }
  FindStart();
  Prepare();
  for (size_t slot = 0; slot < slots_.size(); ++slot) Enqueue(slot);
  NoteWhatIsMissing();
}

void SnapshotEvents::FindStart() {
  int64_t start = std::numeric_limits<int64_t>::max();
  for (const Slot& slot : slots_) {
    for (const TraceEntry& entry : *slot.entries) {
      if (entry.time_us != kNoTime) start = std::min(start, entry.time_us);
    }
  }
  if (!annotations_.empty()) start = std::min(start, annotations_.front()->time_us);
  if (start != std::numeric_limits<int64_t>::max()) start_time_us_ = start;
}

// True if entries of the slot lie after the damage of the file.
bool SnapshotEvents::LacksEntries(size_t slot) const {
  if (!space_.is_trace_cut) return false;
  const auto device = static_cast<size_t>(slots_[slot].device);
  // If no entry was read at all, the file has only one state, and it is known.
  const bool has_entries =
      std::ranges::any_of(space_.traces, [](const auto& entries) { return !entries.empty(); });
  return has_entries && device + 1 >= space_.traces.size();
}

void SnapshotEvents::Prepare() {
  std::vector<Followed> followed;
  std::vector<OpeningSegments> segments;
  fits_ = true;
  for (size_t i = 0; i < slots_.size(); ++i) {
    Slot& slot = slots_[i];
    followed.push_back(FollowEntries(&slot));
    segments.push_back(SegmentsByEnd(slot.segments, *slot.entries));
    counts_.contradictory_segments += segments[i].contradictions;
    const uint64_t contradictions =
        segments[i].contradictions + CompareWithEnd(followed[i].lives, &slot);
    // A file without segments has no end that could contradict the entries.
    slot.fits = !LacksEntries(i) && (contradictions == 0 || space_.segments.empty());
    if (!slot.fits) {
      slot.exact_sizes.clear();  // the blocks at the end may be later ones
      segments[i] = SegmentsByEntries(slot.segments, *slot.entries, rounding_);
    }
    fits_ = fits_ && slot.fits;
  }
  for (size_t i = 0; i < slots_.size(); ++i) OpenSegments(segments[i], &slots_[i]);
  for (size_t i = 0; i < slots_.size(); ++i) OpenBlocks(followed[i], &slots_[i]);
}

void SnapshotEvents::OpenSegments(const OpeningSegments& segments, Slot* slot) {
  std::map<uint64_t, const SnapshotSegment*> at_end;
  if (slot->fits) {
    for (const SnapshotSegment* segment : slot->segments) at_end.emplace(segment->address, segment);
  }
  const auto open = [&](EventKind kind, uint64_t address, uint64_t size) {
    const auto known = at_end.find(address);
    const SnapshotSegment* segment = known == at_end.end() ? nullptr : known->second;
    Event event = SegmentEvent(kind, address, size, segment ? segment->stream : kUnknownStream);
    event.device = host_ ? kNoDevice : static_cast<int16_t>(slot->device);
    event.call = kWindowStart;
    Open({event, segment ? segment->stack : kNoStack}, slot);
    ++counts_.opening_segments;
    counts_.opening_segment_bytes += size;
  };
  for (const auto& [address, size] : segments.fixed) open(EventKind::kAllocate, address, size);
  for (const auto& [from, to] : segments.mapped.ranges()) open(EventKind::kMap, from, to - from);
}

void SnapshotEvents::Open(Ready ready, Slot* slot) {
  if (!slot->fits) Follow(ready.event, &slot->held);
  opening_.push_back(ready);
}

void SnapshotEvents::OpenBlock(const SnapshotBlock& block, uint64_t stream, Opening waits,
                               Slot* slot) {
  const bool is_waiting = block.state == BlockState::kActivePendingFree;
  Event event;
  event.kind = EventKind::kAllocate;
  event.layer = Layer::kFramework;
  event.memory = host_ ? MemoryKind::kHostPinned : MemoryKind::kDevice;
  event.address = block.address;
  event.size = block.size;
  event.requested = block.requested;
  event.stream = stream;
  event.device = host_ ? kNoDevice : static_cast<int16_t>(slot->device);
  event.call = kWindowStart;
  const bool is_first = is_waiting && waits == Opening::kWaitsToEnd;
  Open({event, block.stack, is_first ? waits : Opening::kAllocated}, slot);
  ++counts_.opening_blocks;
  counts_.opening_block_bytes += block.size;
  if (!is_waiting) return;
  event.kind = EventKind::kFree;
  Open({event, block.stack, waits}, slot);
}

void SnapshotEvents::OpenBlocks(const Followed& followed, Slot* slot) {
  const size_t first_opening = opening_.size();
  // If levels are lower bounds, a block does not count in addition to all others because it may
  // have been live together with them.
  const bool is_bound = !fits_ || !snapshot_.complete;
  for (const auto& [block, stream] : followed.freed) {
    OpenBlock(block, stream, is_bound ? Opening::kWaitsToEnd : Opening::kWaits, slot);
  }
  for (const SnapshotSegment* segment : slot->segments) {
    if (!slot->fits) break;
    for (const SnapshotBlock& block : space_.BlocksOf(*segment)) {
      if (block.state == BlockState::kInactive || followed.lives.contains(block.address)) continue;
      OpenBlock(block, segment->stream, Opening::kWaitsToEnd, slot);
    }
  }
  std::ranges::stable_sort(
      opening_.begin() + static_cast<std::ptrdiff_t>(first_opening), opening_.end(), {},
      [](const Ready& ready) { return std::pair(ready.opening, ready.event.address); });
}

// Computes the state of each address at the end from the entries alone. Blocks that are freed
// without having been allocated existed from the beginning.
SnapshotEvents::Followed SnapshotEvents::FollowEntries(Slot* slot) {
  Followed followed;
  Lives& lives = followed.lives;
  const bool has_requests = HasRequests(*slot->entries);
  const auto open = [&](const TraceEntry& entry, BlockState state) {
    followed.freed.push_back(
        {{.address = entry.address,
          .size = BlockSize(entry),
          .requested = entry.size,
          .stack = kNoStack,  // the entry has the stack of the free, not of the allocation
          .state = state},
         entry.stream});
  };
  for (size_t i = 0; i < slot->entries->size(); ++i) {
    const TraceEntry& entry = (*slot->entries)[i];
    ++counts_.entries[static_cast<size_t>(entry.action)];
    const auto known = lives.find(entry.address);
    const bool is_new = known == lives.end();
    switch (entry.action) {
      case TraceAction::kAlloc:
        counts_.live_twice += !is_new && known->second.state != Life::kFreed;
        lives.insert_or_assign(entry.address, Life{Life::kLive, false, i});
        break;
      case TraceAction::kFreeRequested:
      case TraceAction::kFree: {
        if (is_new) open(entry, BlockState::kActiveAllocated);
        if (!is_new && known->second.state != Life::kLive) ++counts_.freed_twice;
        Life& life = is_new ? lives[entry.address] : known->second;
        if (is_new) life.opened = true;
        life.state = entry.action == TraceAction::kFree ? Life::kFreed : Life::kPending;
        life.request_entry = i;
        life.requested = true;
        break;
      }
      case TraceAction::kFreeCompleted: {
        if (is_new) {
          open(entry, has_requests ? BlockState::kActivePendingFree : BlockState::kActiveAllocated);
        }
        const bool is_sudden = is_new ? !has_requests : known->second.state == Life::kLive;
        if (is_sudden) slot->sudden_ends.insert(i);
        if (!is_new && known->second.state == Life::kFreed) ++counts_.freed_twice;
        Life& life = is_new ? lives[entry.address] : known->second;
        if (is_new) life.opened = true;
        life.state = Life::kFreed;
        counts_.unseen_frees_completed += life.opened;
        break;
      }
      default:
        break;
    }
  }
  return followed;
}

// Compares the state that follows from the entries with the blocks at the end. A block that agrees
// with the entries has its exact size.
uint64_t SnapshotEvents::CompareWithEnd(const Lives& lives, Slot* slot) {
  uint64_t live = 0;
  uint64_t unexplained = 0;
  for (const auto& [address, life] : lives) live += life.state != Life::kFreed;

  for (const SnapshotSegment* segment : slot->segments) {
    for (const SnapshotBlock& block : space_.BlocksOf(*segment)) {
      if (block.state == BlockState::kInactive) continue;
      const auto known = lives.find(block.address);
      if (known == lives.end()) continue;  // the block existed from the beginning
      const Life& life = known->second;
      const Life::State expected =
          block.state == BlockState::kActiveAllocated ? Life::kLive : Life::kPending;
      if (life.state != expected) {
        ++unexplained;
        live -= life.state != Life::kFreed && live != 0;
        continue;
      }
      if (live != 0) --live;
      if (!life.opened) slot->exact_sizes[life.alloc_entry] = block.size;
      if (life.requested) slot->exact_sizes[life.request_entry] = block.size;
    }
  }
  // Blocks can only be missing from segments if the file has segments.
  if (space_.segments.empty()) live = 0;
  counts_.vanished_blocks += live;
  counts_.unexplained_blocks += unexplained;
  return live + unexplained;
}

void SnapshotEvents::NoteWhatIsMissing() {
  uint64_t entries = 0;
  for (const uint64_t count : counts_.entries) entries += count;
  if (entries == 0) return;
  const auto say = [&](uint64_t count, std::string_view noun, std::string_view what) {
    if (count != 0) missing_.push_back(Concat(what, ": ", NumberOf(count, noun)));
  };
  const std::string_view ended = space_.is_trace_cut
                                     ? " (events after the damage are missing)"
                                     : " (the recording ended before the snapshot was taken)";
  say(counts_.opening_blocks, "block",
      "live before the first event (what came before is not recorded, perhaps also the job's "
      "peak)");
  say(counts_.live_twice, "event", "allocations of memory that is already live");
  say(counts_.freed_twice, "event", "frees of memory that was already freed");
  say(counts_.vanished_blocks, "block",
      Concat("live according to the events, but not in the segments", ended));
  say(counts_.unexplained_blocks, "block",
      Concat("in the segments, but not according to the last event of their address", ended));
  say(counts_.contradictory_segments, "event",
      Concat("changes of segments that contradict the segments", ended));
  if (!fits_) {
    missing_.emplace_back(
        "the blocks and segments of the snapshot existed after events that are missing, so the "
        "levels count only what the events show");
  }
}

void SnapshotEvents::Enqueue(size_t slot) {
  const Slot& added = slots_[slot];
  if (added.next == added.entries->size()) return;
  const TraceEntry& entry = (*added.entries)[added.next];
  // An entry without a time follows directly after the one before it.
  queue_.emplace_back(entry.time_us == kNoTime ? added.time_us : entry.time_us, slot);
  std::ranges::push_heap(queue_, std::greater());
}

bool SnapshotEvents::Choose(Slot** slot) {
  *slot = nullptr;
  const bool has_annotation = next_annotation_ < annotations_.size();
  if (queue_.empty()) return has_annotation;
  const auto [time_us, number] = queue_.front();
  if (has_annotation && annotations_[next_annotation_]->time_us <= time_us) return true;
  std::ranges::pop_heap(queue_, std::greater());
  queue_.pop_back();
  *slot = &slots_[number];
  return true;
}

bool SnapshotEvents::Next(Event* event) {
  if (next_opening_ < opening_.size()) {
    *event = opening_[next_opening_].event;
    stack_ = opening_[next_opening_++].stack;
    event->sequence = ++sequence_;
    return true;
  }
  while (ready_.empty()) {
    Slot* slot;
    if (!Choose(&slot)) return false;
    if (slot == nullptr) {
      AddAnnotation();
    } else {
      AddEntry(slot);
      // The memory of this slot may be freed while other slots continue.
      const bool is_last = slot->next == slot->entries->size();
      if (is_last && !slot->fits && !queue_.empty()) AddWindowEnd(slot);
      Enqueue(static_cast<size_t>(slot - slots_.data()));
    }
    std::ranges::reverse(ready_);
  }
  *event = ready_.back().event;
  stack_ = ready_.back().stack;
  ready_.pop_back();
  event->sequence = ++sequence_;
  return true;
}

void SnapshotEvents::Add(Event event, StackId stack, int64_t time_us) {
  if (time_us != kNoTime && time_us > start_time_us_) {
    const uint64_t since = static_cast<uint64_t>(time_us) - static_cast<uint64_t>(start_time_us_);
    constexpr uint64_t kMax = ~uint64_t{0} / 1000;
    time_ns_ = std::max(time_ns_, std::min(since, kMax) * 1000);
  }
  event.time_ns = time_ns_;
  ready_.push_back({event, stack});
}

Event SnapshotEvents::BlockEvent(EventKind kind, const TraceEntry& entry, uint64_t size) const {
  Event event;
  event.kind = kind;
  event.layer = entry.is_driver ? Layer::kDriver : Layer::kFramework;
  event.memory = host_ ? MemoryKind::kHostPinned : MemoryKind::kDevice;
  event.address = entry.address;
  event.size = size;
  event.requested = entry.size;
  event.stream = entry.stream;
  event.object = PoolNumber(entry.pool);
  return event;
}

Event SnapshotEvents::SegmentEvent(EventKind kind, uint64_t address, uint64_t size,
                                   uint64_t stream) const {
  Event event;
  event.kind = kind;
  event.layer = Layer::kPool;
  event.memory = MemoryKind::kDevice;
  if (kind == EventKind::kMap || kind == EventKind::kUnmap) event.memory = MemoryKind::kPhysical;
  if (host_) event.memory = MemoryKind::kHostPinned;
  event.address = address;
  event.size = size;
  event.requested = size;
  event.stream = stream;
  return event;
}

void SnapshotEvents::AddEntry(Slot* slot) {
  const size_t index = slot->next++;
  const TraceEntry& entry = (*slot->entries)[index];
  if (entry.time_us != kNoTime) slot->time_us = entry.time_us;
  const auto exact = slot->exact_sizes.find(index);
  const uint64_t size = exact == slot->exact_sizes.end() ? BlockSize(entry) : exact->second;
  const auto add = [&](Event event) {
    event.device = host_ ? kNoDevice : static_cast<int16_t>(slot->device);
    event.call = CallOf(entry.action);
    Add(event, entry.stack, entry.time_us);
    if (!slot->fits) Follow(event, &slot->held);
  };
  const auto add_segment = [&](EventKind kind) {
    // An entry of the driver exists only because a viewer needs a segment around the driver's
    // memory, so it becomes no event.
    if (entry.is_driver) return;
    add(SegmentEvent(kind, entry.address, entry.size, entry.stream));
  };
  switch (entry.action) {
    case TraceAction::kAlloc:
      return add(BlockEvent(EventKind::kAllocate, entry, size));
    case TraceAction::kFreeRequested:
      return add(BlockEvent(EventKind::kFree, entry, size));
    case TraceAction::kFreeCompleted:
      if (slot->sudden_ends.contains(index)) add(BlockEvent(EventKind::kFree, entry, size));
      if (entry.is_driver) return;  // the driver has only the free itself
      return add(BlockEvent(EventKind::kFreeCompleted, entry, size));
    case TraceAction::kFree:
      add(BlockEvent(EventKind::kFree, entry, size));
      return add(BlockEvent(EventKind::kFreeCompleted, entry, size));
    case TraceAction::kSegmentAlloc:
      return add_segment(EventKind::kAllocate);
    case TraceAction::kSegmentFree:
      return add_segment(EventKind::kFree);
    case TraceAction::kSegmentMap:
      return add_segment(EventKind::kMap);
    case TraceAction::kSegmentUnmap:
      return add_segment(EventKind::kUnmap);
    case TraceAction::kOutOfMemory: {
      // In an out-of-memory entry, the address is the number of bytes that are free on the device.
      Event info = DeviceMemoryInfo{kNoDevice, entry.address, 0}.ToEvent();
      info.layer = Layer::kPool;
      add(info);
      Event failed = BlockEvent(EventKind::kAllocate, entry, entry.size);
      failed.address = 0;
      failed.result = kOutOfMemoryResult;
      return add(failed);
    }
    case TraceAction::kSnapshot:
    case TraceAction::kAnnotate: {
      Event mark = MarkEvent{MarkKind::kMoment, entry.user_metadata, 0}.ToEvent();
      mark.layer = Layer::kFramework;
      mark.address = entry.address;
      return add(mark);
    }
  }
}

void SnapshotEvents::Follow(const Event& event, Held* held) {
  const bool is_pool = event.layer == Layer::kPool;
  std::map<uint64_t, Event>& memory = is_pool ? held->segments : held->blocks;
  if (event.kind == EventKind::kAllocate && event.result == 0) {
    memory.insert_or_assign(event.address, event);
  } else if (event.kind == EventKind::kFree) {
    memory.erase(event.address);
  } else if (event.kind == EventKind::kMap) {
    held->mapped.Add(event.address, event.size);
  } else if (event.kind == EventKind::kUnmap) {
    held->mapped.Remove(event.address, event.size);
  }
}

void SnapshotEvents::AddWindowEnd(Slot* slot) {
  const auto add = [&](Event event, EventKind kind) {
    event.kind = kind;
    event.device = host_ ? kNoDevice : static_cast<int16_t>(slot->device);
    event.call = kWindowEnd;
    Add(event, kNoStack, kNoTime);
  };
  for (const auto& [address, block] : slot->held.blocks) {
    add(block, EventKind::kFree);
    if (block.layer == Layer::kFramework) add(block, EventKind::kFreeCompleted);
  }
  for (const auto& [address, segment] : slot->held.segments) add(segment, EventKind::kFree);
  for (const auto& [from, to] : slot->held.mapped.ranges()) {
    add(SegmentEvent(EventKind::kUnmap, from, to - from, kUnknownStream), EventKind::kUnmap);
  }
  slot->held = {};
}

void SnapshotEvents::AddAnnotation() {
  const Annotation& annotation = *annotations_[next_annotation_++];
  Event mark = MarkEvent{MarkKind::kMoment, annotation.name, 0}.ToEvent();
  mark.layer = Layer::kFramework;
  mark.device = static_cast<int16_t>(annotation.device);
  const bool begins = annotation.stage == AnnotationStage::kStart;
  mark.call = begins ? kAnnotationStart : kAnnotationEnd;
  // A range that ends when it begins is a moment.
  if (begins && next_annotation_ < annotations_.size() &&
      IsEndOf(annotation, *annotations_[next_annotation_])) {
    ++next_annotation_;
    mark.call = kUnknownName;
  }
  Add(mark, kNoStack, annotation.time_us);
}

}  // namespace vramstow
