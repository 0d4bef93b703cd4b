// Snapshot is a PyTorch memory snapshot (torch.cuda.memory._snapshot()) as plain data.
//
// Idea: one layout for all forms that PyTorch has written since 2023. Data that a file does not
// have is marked as absent and never invented; `missing` describes it in sentences. Blocks of all
// segments are in one vector; texts and call stacks are stored once.
//
// Ownership: a value that owns its data; movable. Threads: const calls are safe from any thread.
// Errors: none. Units: bytes; microseconds since 1970 as PyTorch writes them.
// Source of the format: the docstring of torch.cuda.memory._snapshot and publicly available files.
#ifndef VRAMSTOW_TOOLS_FORMATS_SNAPSHOT_H_
#define VRAMSTOW_TOOLS_FORMATS_SNAPSHOT_H_

#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "tools/formats/tables.h"

namespace vramstow {

inline constexpr int64_t kNoTime = std::numeric_limits<int64_t>::min();
// Devices of a snapshot have numbers below this one. A snapshot with more of them is refused.
inline constexpr int32_t kMaxSnapshotDevices = 1024;

enum class BlockState : uint8_t { kInactive, kActiveAllocated, kActivePendingFree };
enum class SegmentType : uint8_t { kUnknown, kSmall, kLarge };

// Returns PyTorch's name, such as "active_allocated". The result is never null.
const char* BlockStateName(BlockState state);

struct PoolId {
  uint64_t first = 0;
  uint64_t second = 0;
  bool operator==(const PoolId&) const = default;
};

struct SnapshotBlock {
  uint64_t address = 0;  // if absent, computed from the segment's start
  uint64_t size = 0;
  uint64_t requested = 0;  // if absent, the size
  StackId stack = kNoStack;
  BlockState state = BlockState::kInactive;
};

struct SnapshotSegment {
  uint64_t address = 0;
  uint64_t total_size = 0;
  uint64_t allocated_size = 0;
  uint64_t active_size = 0;
  uint64_t requested_size = 0;
  uint64_t stream = 0;
  PoolId pool = {};  // if absent, the default pool (0, 0)
  uint64_t first_block = 0;
  uint64_t block_count = 0;
  int32_t device = 0;
  StackId stack = kNoStack;
  SegmentType type = SegmentType::kUnknown;
  bool is_expandable = false;
};

enum class TraceAction : uint8_t {
  kAlloc,
  kFreeRequested,
  kFreeCompleted,
  kFree,  // in files without the two actions above
  kSegmentAlloc,
  kSegmentFree,
  kSegmentMap,
  kSegmentUnmap,
  kSnapshot,
  kOutOfMemory,
  kAnnotate,
};
inline constexpr int kTraceActions = 11;

// Returns PyTorch's name, such as "free_requested" or "oom". Never null.
const char* TraceActionName(TraceAction action);

struct TraceEntry {
  uint64_t address = 0;  // for kOutOfMemory: free bytes of the device
  uint64_t size = 0;     // as requested, without rounding
  uint64_t stream = 0;
  int64_t time_us = kNoTime;
  PoolId pool = {};
  StackId stack = kNoStack;
  TextId compile_context = kNoText;
  TextId user_metadata = kNoText;
  TraceAction action = TraceAction::kAlloc;
  // Only snapshots that vramstow exported have the next two fields.
  bool is_driver = false;   // the program called the driver directly, without PyTorch
  uint64_t block_size = 0;  // set if rounding the size does not give it
};

enum class AnnotationStage : uint8_t { kStart, kEnd };

struct Annotation {
  TextId name = kNoText;
  int64_t time_us = kNoTime;
  int32_t device = -1;
  AnnotationStage stage = AnnotationStage::kStart;
};

// One entry of allocator_settings; the keys of nested dicts are joined by dots.
struct AllocatorSetting {
  std::string name;
  std::variant<std::monostate, bool, int64_t, double, std::string> value;
};

// The segments and traces of one kind of memory. It is device memory, or (as host_segments and
// host_traces) pinned memory of the host.
struct SnapshotSpace {
  std::vector<SnapshotSegment> segments;
  std::vector<SnapshotBlock> blocks;            // of all segments
  std::vector<std::vector<TraceEntry>> traces;  // one for each device slot
  bool is_trace_cut = false;  // the file is damaged in the last of the traces, or at its end
  std::span<const SnapshotBlock> BlocksOf(const SnapshotSegment& segment) const {
    return {blocks.data() + segment.first_block, segment.block_count};
  }
};

struct Snapshot {
  SnapshotSpace device;
  SnapshotSpace host;
  std::vector<Annotation> annotations;
  std::vector<AllocatorSetting> settings;
  TextTable texts;
  StackTable stacks;

  // Data that the file lacks, or that contradicts other data, one sentence each.
  std::vector<std::string> missing;
  bool complete = true;  // false: the file was damaged, with only what was readable
};

// Sums over the segments of one device, or of all devices if kAllDevices was given. Each member is
// a sum of a field of the segments, or is counted from their blocks, as its comment says.
inline constexpr int32_t kAllDevices = -1;
struct SnapshotTotals {
  uint64_t segments = 0;
  uint64_t blocks = 0;
  uint64_t reserved = 0;          // sum of total_size
  uint64_t allocated = 0;         // sum of allocated_size
  uint64_t requested = 0;         // requested bytes of live blocks
  uint64_t pending_bytes = 0;     // bytes of blocks in kActivePendingFree
  uint64_t block_states[3] = {};  // number of blocks, by BlockState
};
SnapshotTotals TotalsOf(const SnapshotSpace& space, int32_t device = kAllDevices);

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_FORMATS_SNAPSHOT_H_
