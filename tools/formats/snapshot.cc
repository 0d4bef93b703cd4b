#include "tools/formats/snapshot.h"

namespace vramstow {

const char* BlockStateName(BlockState state) {
  switch (state) {
    case BlockState::kInactive:
      return "inactive";
    case BlockState::kActiveAllocated:
      return "active_allocated";
    case BlockState::kActivePendingFree:
      return "active_pending_free";
  }
  return "unknown";
}

const char* TraceActionName(TraceAction action) {
  switch (action) {
    case TraceAction::kAlloc:
      return "alloc";
    case TraceAction::kFreeRequested:
      return "free_requested";
    case TraceAction::kFreeCompleted:
      return "free_completed";
    case TraceAction::kFree:
      return "free";
    case TraceAction::kSegmentAlloc:
      return "segment_alloc";
    case TraceAction::kSegmentFree:
      return "segment_free";
    case TraceAction::kSegmentMap:
      return "segment_map";
    case TraceAction::kSegmentUnmap:
      return "segment_unmap";
    case TraceAction::kSnapshot:
      return "snapshot";
    case TraceAction::kOutOfMemory:
      return "oom";
    case TraceAction::kAnnotate:
      return "annotate";
  }
  return "unknown";
}

SnapshotTotals TotalsOf(const SnapshotSpace& space, int32_t device) {
  SnapshotTotals totals;
  for (const SnapshotSegment& segment : space.segments) {
    if (device != kAllDevices && segment.device != device) continue;
    ++totals.segments;
    totals.reserved += segment.total_size;
    totals.allocated += segment.allocated_size;
    for (const SnapshotBlock& block : space.BlocksOf(segment)) {
      ++totals.blocks;
      ++totals.block_states[static_cast<int>(block.state)];
      if (block.state == BlockState::kActiveAllocated) totals.requested += block.requested;
      if (block.state == BlockState::kActivePendingFree) totals.pending_bytes += block.size;
    }
  }
  return totals;
}

}  // namespace vramstow
