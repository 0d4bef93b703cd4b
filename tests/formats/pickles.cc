#include "tests/formats/pickles.h"

#include <cstdlib>

#include "tools/formats/snapshot_writer.h"

namespace vramstow {
namespace {

constexpr uint64_t kMiB = uint64_t{1} << 20;
constexpr uint64_t kSmallSegment = 0x7f0000000000;
constexpr uint64_t kLargeSegment = 0x7f0001000000;
constexpr uint64_t kExpandable = 0x7f1000000000;

StackId Stack(Snapshot* snapshot, const char* function, bool generated) {
  Frame frame;
  frame.name = snapshot->texts.Intern(function);
  frame.filename = snapshot->texts.Intern("/home/user/train.py");
  frame.line = 42;
  if (generated) {
    frame.fx_node_op = snapshot->texts.Intern("call_function");
    frame.fx_node_name = snapshot->texts.Intern("linear");
    frame.fx_original_trace = snapshot->texts.Intern("File \"model.py\", line 7");
  }
  Frame caller;
  caller.name = snapshot->texts.Intern("main");
  caller.filename = frame.filename;
  const FrameId frames[] = {snapshot->stacks.InternFrame(frame),
                            snapshot->stacks.InternFrame(caller)};
  return snapshot->stacks.InternStack(frames);
}

void AddSegment(SnapshotSpace* space, SnapshotSegment segment,
                const std::vector<SnapshotBlock>& blocks) {
  segment.first_block = space->blocks.size();
  segment.block_count = blocks.size();
  for (const SnapshotBlock& block : blocks) {
    segment.total_size += block.size;
    if (block.state == BlockState::kActiveAllocated) segment.allocated_size += block.size;
    if (block.state != BlockState::kInactive) segment.active_size += block.size;
    space->blocks.push_back(block);
  }
  space->segments.push_back(segment);
}

void AddSegments(Snapshot* snapshot, StackId forward, StackId backward) {
  SnapshotSpace* space = &snapshot->device;
  AddSegment(space, {.address = kSmallSegment, .stack = forward, .type = SegmentType::kSmall},
             {{kSmallSegment, 512, 100, forward, BlockState::kActiveAllocated},
              {kSmallSegment + 512, 1024, 600, backward, BlockState::kActivePendingFree},
              {kSmallSegment + 1536, 2 * kMiB - 1536, 2 * kMiB - 1536}});
  AddSegment(space,
             {.address = kLargeSegment, .stream = 7, .pool = {0, 1}, .type = SegmentType::kLarge},
             {{kLargeSegment, 20 * kMiB, 19 * kMiB, backward, BlockState::kActiveAllocated}});
  AddSegment(
      space,
      {.address = kExpandable, .device = 2, .type = SegmentType::kLarge, .is_expandable = true},
      {{kExpandable, 4 * kMiB, 4 * kMiB, forward, BlockState::kActiveAllocated},
       {kExpandable + 4 * kMiB, 36 * kMiB, 36 * kMiB}});
}

TraceEntry Entry(TraceAction action, uint64_t address, uint64_t size, int64_t time_us,
                 StackId stack) {
  TraceEntry entry;
  entry.action = action;
  entry.address = address;
  entry.size = size;
  entry.time_us = time_us;
  entry.stack = stack;
  return entry;
}

void AddTraces(Snapshot* snapshot, StackId forward, StackId backward) {
  using A = TraceAction;
  auto& traces = snapshot->device.traces;
  traces.resize(4);
  constexpr int64_t kStart = 1'700'000'000'000'000;
  traces[0] = {
      // The block at offset 4096 is freed in the recorded window, but it was allocated before the
      // window.
      Entry(A::kFreeRequested, kSmallSegment + 4096, 2000, kStart, backward),
      Entry(A::kFreeCompleted, kSmallSegment + 4096, 2000, kStart + 1, backward),
      Entry(A::kSegmentAlloc, kLargeSegment, 20 * kMiB, kStart + 10, backward),
      Entry(A::kAlloc, kLargeSegment, 19 * kMiB, kStart + 11, backward),
      Entry(A::kSegmentFree, 0x7f0009000000, 2 * kMiB, kStart + 12, kNoStack),
      Entry(A::kFreeRequested, kSmallSegment + 512, 600, kStart + 15, backward),
      Entry(A::kOutOfMemory, 123 * kMiB, 900 * kMiB, kStart + 20, forward),
      Entry(A::kSnapshot, 0, 0, kStart + 30, kNoStack),
  };
  traces[0][3].compile_context = snapshot->texts.Intern("0/0");
  TraceEntry annotate = Entry(A::kAnnotate, kLargeSegment, 0, kStart + 25, kNoStack);
  annotate.user_metadata = snapshot->texts.Intern("weights of layer 3");
  traces[0].insert(traces[0].end() - 1, annotate);
  traces[2] = {
      Entry(A::kSegmentUnmap, kExpandable + 40 * kMiB, 20 * kMiB, kStart + 5, kNoStack),
      Entry(A::kSegmentMap, kExpandable + 20 * kMiB, 20 * kMiB, kStart + 6, kNoStack),
      Entry(A::kAlloc, kExpandable, 4 * kMiB, kStart + 7, forward),
  };
}

}  // namespace

Snapshot FullSnapshot() {
  Snapshot snapshot;
  const StackId forward = Stack(&snapshot, "forward", false);
  const StackId backward = Stack(&snapshot, "backward", true);
  AddSegments(&snapshot, forward, backward);
  AddTraces(&snapshot, forward, backward);
  AddSegment(&snapshot.host, {.address = 0x5000, .type = SegmentType::kSmall},
             {{0x5000, 4096, 4000, forward, BlockState::kActiveAllocated}});
  snapshot.host.traces.resize(1);
  snapshot.host.traces[0] = {
      Entry(TraceAction::kAlloc, 0x5000, 4000, 1'700'000'000'000'002, forward)};
  snapshot.annotations = {
      {snapshot.texts.Intern("step"), 1'700'000'000'000'003, 0, AnnotationStage::kStart},
      {snapshot.texts.Intern("step"), 1'700'000'000'000'029, 0, AnnotationStage::kEnd}};
  snapshot.settings = {{"expandable_segments", true},
                       {"max_split_size", int64_t{-1}},
                       {"garbage_collection_threshold", 0.5},
                       {"PYTORCH_CUDA_ALLOC_CONF", std::string("expandable_segments:True")},
                       {"roundup_power2_divisions.1", int64_t{0}},
                       {"roundup_power2_divisions.256", int64_t{4}},
                       {"nothing", std::monostate()}};
  return snapshot;
}

std::string FullSnapshotPickle() {
  std::ostringstream sink;
  const absl::Status written = WriteSnapshot(FullSnapshot(), &sink);
  if (!written.ok()) std::abort();
  return sink.str();
}

}  // namespace vramstow
