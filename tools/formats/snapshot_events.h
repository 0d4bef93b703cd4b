// SnapshotEvents converts the history in a memory snapshot to events of base/event.h.
//
// Idea: a recording begins in the middle of a run. The state before its first event is
// reconstructed from both ends: blocks that are freed without having been allocated, blocks at the
// end that no event allocated, and the segments at the end without those that the events mapped.
// Events that allocate this state come first, at time 0, with the call "window_start". Applied to
// that state, the other events end exactly in the snapshot's own segments and blocks, or missing()
// says how they differ.
//
// If events are missing between the last one and the snapshot (the file is damaged, or the
// recording ended earlier), the end does not show what existed before. The state before the first
// event is then reconstructed from the events alone, so that each level is a lower bound: blocks
// and segments that are freed without having been allocated, and the addresses of the other blocks
// as segments. If devices have later events than such a device, its memory is freed after its last
// event, with the call "window_end", because it may have been freed while they continue.
//
//   PyTorch           event
//   segment_alloc     kAllocate  layer kPool, memory kDevice
//   segment_free      kFree      layer kPool, memory kDevice
//   segment_map       kMap       layer kPool, memory kPhysical (expandable segments)
//   segment_unmap     kUnmap     layer kPool, memory kPhysical
//   alloc             kAllocate  layer kFramework: requested, and size as the allocator rounds it
//   free_requested    kFree      layer kFramework: the application has freed the block
//   free_completed    kFreeCompleted: the allocator may reuse the block
//   free              kFree and kFreeCompleted; so is a free_completed without a free_requested
//   oom               kMemoryInfo (size: free on the device), kAllocate with result 2
//   snapshot, annotate, external annotations   kMark; `object` is a TextId of the snapshot
//
// Event::call is a number for CallName(), which returns PyTorch's word for the action. Blocks that
// are live at the end have the sizes of the snapshot; other blocks have sizes computed by
// BlockRounding.
//
// Ownership: the snapshot must outlive this. Threads: one at a time. Errors: none; contradictions
// are counted. Memory: a few words for each address that occurs. Units: bytes, nanoseconds from the
// earliest time in the snapshot.
#ifndef VRAMSTOW_TOOLS_FORMATS_SNAPSHOT_EVENTS_H_
#define VRAMSTOW_TOOLS_FORMATS_SNAPSHOT_EVENTS_H_

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "base/event.h"
#include "tools/formats/block_rounding.h"
#include "tools/formats/mapped_ranges.h"
#include "tools/formats/opening_segments.h"
#include "tools/formats/snapshot.h"

namespace vramstow {

enum class SnapshotPart { kDevices, kHost };

struct SnapshotEventCounts {
  std::array<uint64_t, kTraceActions> entries = {};  // by TraceAction
  uint64_t unseen_frees_completed = 0;  // frees of blocks that were allocated before the window
  uint64_t opening_blocks = 0;          // blocks that were live before the window
  uint64_t opening_block_bytes = 0;
  uint64_t opening_segments = 0;
  uint64_t opening_segment_bytes = 0;
  // How often each kind of contradiction occurs in the file.
  uint64_t live_twice = 0;          // allocations at an address that is live
  uint64_t freed_twice = 0;         // frees of an address that was freed before
  uint64_t vanished_blocks = 0;     // live after the last event, but not in the segments
  uint64_t unexplained_blocks = 0;  // in the segments, but freed by their last event
  uint64_t contradictory_segments = 0;
};

class SnapshotEvents {
 public:
  // Reads the events of one device, or of all devices, merged by time.
  explicit SnapshotEvents(const Snapshot* snapshot, int32_t device = kAllDevices,
                          SnapshotPart part = SnapshotPart::kDevices);

  // Returns the next event; false at the end. Sequence numbers count from 1.
  bool Next(Event* event);
  // The call stack of the event that Next returned last.
  StackId stack() const { return stack_; }

  static std::string_view CallName(uint16_t call);

  // The counts and the sentences are complete before the first call of Next().
  const SnapshotEventCounts& counts() const { return counts_; }
  const std::vector<std::string>& missing() const { return missing_; }
  // True if the events lead to the blocks and segments of the snapshot. If false, levels are lower
  // bounds.
  bool fits() const { return fits_; }
  // Returns the moment of time 0 in microseconds since 1970. Returns kNoTime if no entry has a
  // time.
  int64_t start_time_us() const { return start_time_us_; }

 private:
  struct Life;
  using Lives = absl::flat_hash_map<uint64_t, Life>;  // by address
  // The memory that is live after the events that were returned, as events that allocate it.
  struct Held {
    std::map<uint64_t, Event> blocks;    // by address
    std::map<uint64_t, Event> segments;  // by address
    MappedRanges mapped;
  };
  struct Slot {
    const std::vector<TraceEntry>* entries;
    int32_t device;
    std::vector<const SnapshotSegment*> segments = {};  // of this device, at the end
    size_t next = 0;
    int64_t time_us = kNoTime;                          // time of the last entry that has one
    absl::flat_hash_map<size_t, uint64_t> exact_sizes;  // by entry, if its block still exists
    absl::flat_hash_set<size_t> sudden_ends;            // entries that complete an unrequested free
    bool fits = true;  // no events are missing between the last one and the snapshot
    Held held = {};    // only if it does not fit
  };
  // The order of the events that allocate the state at the beginning of the recording. Blocks whose
  // free is pending until the end of the recording come first, because the allocator counts them as
  // free. Blocks whose pending free completes within the recording come last, because they may have
  // been live together with all other blocks.
  enum class Opening : uint8_t { kWaitsToEnd, kAllocated, kWaits };
  struct Ready {
    Event event;
    StackId stack;
    Opening opening = Opening::kAllocated;
  };

  // What follows from the entries of a slot alone.
  struct Followed {
    Lives lives;
    // Blocks that are freed without having been allocated, with their streams.
    std::vector<std::pair<SnapshotBlock, uint64_t>> freed;
  };
  void Prepare();
  Followed FollowEntries(Slot* slot);
  // Returns how many blocks contradict the entries.
  uint64_t CompareWithEnd(const Lives& lives, Slot* slot);
  bool LacksEntries(size_t slot) const;
  void OpenBlocks(const Followed& followed, Slot* slot);
  void OpenBlock(const SnapshotBlock& block, uint64_t stream, Opening waits, Slot* slot);
  void OpenSegments(const OpeningSegments& segments, Slot* slot);
  void Open(Ready ready, Slot* slot);
  void FindStart();
  void NoteWhatIsMissing();

  // Adds a slot to the queue, unless all its events were returned.
  void Enqueue(size_t slot);
  // Selects the next event. If it is an entry of a slot, sets *slot to this slot, which then is no
  // longer in the queue. If it is an
  // annotation, sets *slot to null. Returns false if there is no event.
  bool Choose(Slot** slot);
  void AddEntry(Slot* slot);
  // Frees what the slot holds after its last entry.
  void AddWindowEnd(Slot* slot);
  static void Follow(const Event& event, Held* held);
  void AddAnnotation();
  void Add(Event event, StackId stack, int64_t time_us);
  uint64_t BlockSize(const TraceEntry& entry) const { return BlockSizeOf(entry, rounding_); }
  Event BlockEvent(EventKind kind, const TraceEntry& entry, uint64_t size) const;
  Event SegmentEvent(EventKind kind, uint64_t address, uint64_t size, uint64_t stream) const;

  const Snapshot& snapshot_;
  const SnapshotSpace& space_;
  const bool host_;
  const BlockRounding rounding_;
  std::vector<Slot> slots_;
  // The time of the next event of each slot that has one, with the number of the slot: a heap whose
  // first element is the earliest.
  std::vector<std::pair<int64_t, size_t>> queue_;
  std::vector<const Annotation*> annotations_;
  size_t next_annotation_ = 0;
  bool fits_ = true;
  std::vector<Ready> opening_;
  size_t next_opening_ = 0;
  std::vector<Ready> ready_;  // events of the current entry, in reverse
  StackId stack_ = kNoStack;
  uint64_t sequence_ = 0;
  uint64_t time_ns_ = 0;
  int64_t start_time_us_ = kNoTime;
  SnapshotEventCounts counts_;
  std::vector<std::string> missing_;
};

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_FORMATS_SNAPSHOT_EVENTS_H_
