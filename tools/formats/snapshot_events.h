// SnapshotEvents: the history in a memory snapshot, as events of base/event.h.
//
// Idea: a recording begins in the middle of a run. What was there before its first event is worked
// out from both ends: blocks that are freed without having been allocated, blocks at the end that
// no event made, and the segments at the end less what the events mapped. It comes first, at time
// 0, under the call "window_start"; played from there, the events end in exactly the snapshot's own
// segments and blocks, or missing() says how far they do not.
//
//   PyTorch           event
//   segment_alloc     kAllocate  layer kPool, memory kDevice
//   segment_free      kFree      layer kPool, memory kDevice
//   segment_map       kMap       layer kPool, memory kPhysical (expandable segments)
//   segment_unmap     kUnmap     layer kPool, memory kPhysical
//   alloc             kAllocate  layer kFramework: requested, and size as the allocator rounds it
//   free_requested    kFree      layer kFramework: the application gave it back
//   free_completed    kFreeCompleted: it may be handed out again
//   free              kFree and kFreeCompleted; free_completed of a block that nobody asked to
//   free, too oom               kMemoryInfo (size: free on the device), kAllocate with result 2
//   snapshot, annotate, external annotations   kMark; `object` is a TextId of the snapshot
//
// Event::call is a number for CallName(): PyTorch's word for the action. Sizes of blocks that live
// at the end are those of the snapshot; of the others as BlockRounding says.
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
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "base/event.h"
#include "tools/formats/rounding.h"
#include "tools/formats/snapshot.h"

namespace vramstow {

enum class SnapshotPart { kDevices, kHost };

struct SnapshotEventCounts {
  std::array<uint64_t, kTraceActions> entries = {};  // by TraceAction
  uint64_t unseen_frees_completed = 0;  // of blocks whose allocation is not in the window
  uint64_t opening_blocks = 0;          // live when the window opens
  uint64_t opening_block_bytes = 0;
  uint64_t opening_segments = 0;
  uint64_t opening_segment_bytes = 0;
  // Contradictions.
  uint64_t live_twice = 0;          // alloc of an address that is live
  uint64_t freed_twice = 0;         // free of an address that was freed
  uint64_t vanished_blocks = 0;     // live after the last event, not in the segments
  uint64_t unexplained_blocks = 0;  // in the segments, freed by the last event that names them
  uint64_t contradictory_segments = 0;
};

class SnapshotEvents {
 public:
  // The events of one device, or of all, merged by time.
  explicit SnapshotEvents(const Snapshot* snapshot, int32_t device = kAllDevices,
                          SnapshotPart part = SnapshotPart::kDevices);

  // The next event; false at the end. Sequence numbers count from 1.
  bool Next(Event* event);
  // The call stack of the event that Next gave last.
  StackId stack() const { return stack_; }

  static std::string_view CallName(uint16_t call);

  // Complete from the beginning.
  const SnapshotEventCounts& counts() const { return counts_; }
  const std::vector<std::string>& missing() const { return missing_; }
  // Microseconds since 1970 of time 0; kNoTime where nothing has a time.
  int64_t start_time_us() const { return start_time_us_; }

 private:
  struct Life;
  using Lives = absl::flat_hash_map<uint64_t, Life>;  // by address
  struct Slot {
    const std::vector<TraceEntry>* entries;
    int32_t device;
    size_t next = 0;
    int64_t time_us = kNoTime;                          // of the last entry that has one
    absl::flat_hash_map<size_t, uint64_t> exact_sizes;  // by entry, where the block is still there
    absl::flat_hash_set<size_t> sudden_ends;            // entries: completed, and never requested
  };
  // The order of the opening events. Blocks that wait to the end come first, because the allocator
  // counts them as free. Frees of blocks that wait no longer within the window come last, because
  // these may have been live together with all others.
  enum class Opening : uint8_t { kWaitsToEnd, kAllocated, kWaits };
  struct Ready {
    Event event;
    StackId stack;
    Opening opening = Opening::kAllocated;
  };

  void Prepare(Slot* slot);
  Lives FollowEntries(Slot* slot);
  void CompareWithEnd(const Lives& lives, Slot* slot);
  void OpenBlock(int32_t device, const SnapshotBlock& block, uint64_t stream, Opening waits);
  void OpenSegments(const Slot& slot);
  void FindStart();
  void NoteWhatIsMissing();

  // The next one: a slot, or an annotation (null), or nothing.
  bool Choose(Slot** slot);
  void AddEntry(Slot* slot);
  void AddAnnotation();
  void Add(Event event, StackId stack, int64_t time_us);
  uint64_t BlockSize(const TraceEntry& entry) const {
    return entry.block_size != 0 ? entry.block_size : rounding_.Round(entry.size);
  }
  Event BlockEvent(EventKind kind, const TraceEntry& entry, uint64_t size) const;
  Event SegmentEvent(EventKind kind, uint64_t address, uint64_t size, uint64_t stream) const;

  const Snapshot& snapshot_;
  const SnapshotSpace& space_;
  const bool host_;
  const BlockRounding rounding_;
  std::vector<Slot> slots_;
  std::vector<const Annotation*> annotations_;
  size_t next_annotation_ = 0;
  std::vector<Ready> opening_;
  size_t next_opening_ = 0;
  std::vector<Ready> ready_;  // of the entry at hand, in reverse
  StackId stack_ = kNoStack;
  uint64_t sequence_ = 0;
  uint64_t time_ns_ = 0;
  int64_t start_time_us_ = kNoTime;
  SnapshotEventCounts counts_;
  std::vector<std::string> missing_;
};

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_FORMATS_SNAPSHOT_EVENTS_H_
