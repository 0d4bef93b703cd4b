#include "tools/inputs/card_evidence.h"

#include <algorithm>
#include <string_view>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/units.h"
#include "tools/formats/snapshot_reader.h"

namespace vramstow {
namespace {

// The size of the workspace that PyTorch allocates for cuBLAS. The second size is used on GPUs of
// compute capability 9.0, and the first one on all others.
constexpr uint64_t kWorkspace = 8519680;
constexpr uint64_t kLargeWorkspace = 32 * kMiB;
constexpr size_t kMaxDevices = 16;

// Finds the most bytes that one device had reserved. Also finds how many bytes were free, and how
// many reserved, when memory ran out.
void LookAtLevels(const std::vector<TraceEntry>& entries, uint64_t level_at_end,
                  CardEvidence* evidence) {
  uint64_t level = level_at_end;
  evidence->held_bytes = std::max(evidence->held_bytes, level);
  // Computes the bytes reserved before each event, from the end backwards.
  for (auto entry = entries.rbegin(); entry != entries.rend(); ++entry) {
    const TraceAction action = entry->action;
    if (action == TraceAction::kSegmentAlloc || action == TraceAction::kSegmentMap) {
      level -= std::min(level, entry->size);
    } else if (action == TraceAction::kSegmentFree || action == TraceAction::kSegmentUnmap) {
      level += entry->size;
    }
    evidence->held_bytes = std::max(evidence->held_bytes, level);
    if (action == TraceAction::kOutOfMemory && level >= evidence->held_then_bytes) {
      evidence->free_bytes = entry->address;
      evidence->held_then_bytes = level;
    }
  }
}

bool IsWorkspace(const Snapshot& snapshot, StackId stack) {
  return std::ranges::any_of(snapshot.stacks.Stack(stack), [&](FrameId number) {
    const std::string_view name = snapshot.texts.Text(snapshot.stacks.FrameOf(number).name);
    return name.find("getNewWorkspace") != std::string_view::npos ||
           name.find("getCUDABlasWorkspace") != std::string_view::npos;
  });
}

}  // namespace

absl::StatusOr<CardEvidence> ReadCardEvidence(const std::string& path) {
  const absl::StatusOr<Snapshot> snapshot = ReadSnapshot(path);
  if (!snapshot.ok()) {
    return absl::Status(snapshot.status().code(), absl::StrCat(snapshot.status().message(), "."));
  }
  const SnapshotSpace& space = snapshot->device;
  CardEvidence evidence;
  // A file without events may still have segments, so at least 16 devices are checked.
  const size_t devices = std::max(space.traces.size(), kMaxDevices);
  for (size_t device = 0; device < devices; ++device) {
    uint64_t held = 0;
    for (const SnapshotSegment& segment : space.segments) {
      if (segment.device == static_cast<int32_t>(device)) held += segment.total_size;
    }
    LookAtLevels(device < space.traces.size() ? space.traces[device] : std::vector<TraceEntry>(),
                 held, &evidence);
  }
  for (const SnapshotBlock& block : space.blocks) {
    // A block of 8,519,680 bytes is always a workspace. A block of 32 MiB may be anything, so one
    // of its frames must be the allocation of a workspace.
    if (block.requested == kWorkspace && block.state == BlockState::kActiveAllocated) {
      evidence.has_workspace = true;
    } else if (block.requested == kLargeWorkspace && !evidence.has_large_workspace) {
      evidence.has_large_workspace = IsWorkspace(*snapshot, block.stack);
    }
  }
  return evidence;
}

}  // namespace vramstow
