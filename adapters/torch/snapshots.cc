#include "adapters/torch/snapshots.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace vramstow::torch_adapter {
namespace {

// The stream number that the pool uses for memory that belongs to no stream.
constexpr uint64_t kNoStream = ~uint64_t{0};

std::vector<vramstow_framework_block> AllBlocks(const vramstow_framework* table, int handle) {
  std::vector<vramstow_framework_block> blocks;
  table->visit(
      handle,
      [](void* context, const vramstow_framework_block* block) {
        static_cast<std::vector<vramstow_framework_block>*>(context)->push_back(*block);
      },
      &blocks);
  return blocks;
}

// This is a template, because not every release of PyTorch has this field.
template <typename Segment>
void MarkAsUnregistered(Segment* segment) {
  if constexpr (requires { segment->registration_counter; }) segment->registration_counter = 0;
}

SegmentInfo NewSegment(Device* device, const vramstow_framework_block& block) {
  SegmentInfo segment;
  segment.device = device->index;
  segment.address = block.address;
  segment.stream = reinterpret_cast<decltype(segment.stream)>(block.stream);
  segment.is_large = block.is_large != 0;
  segment.is_expandable = true;
  MarkAsUnregistered(&segment);
  segment.owner_private_pool_id = device->pools.IdOf(block.pool);
  return segment;
}

bool Continues(const vramstow_framework_block& last, const vramstow_framework_block& next) {
  return last.address + last.size == next.address && last.stream == next.stream &&
         last.pool == next.pool && (last.is_large != 0) == (next.is_large != 0);
}

}  // namespace

void Snapshots::AddBlock(const vramstow_framework_block& block, SegmentInfo* segment) {
  segment->total_size += block.size;
  // Free pieces that lie side by side are shown as one free block, because the pool will merge
  // them.
  if (block.state == VRAMSTOW_BLOCK_FREE && !segment->blocks.empty() &&
      !segment->blocks.back().active) {
    segment->blocks.back().size += block.size;
    return;
  }
  auto& info = segment->blocks.emplace_back();
  info.size = block.size;
  info.requested_size = block.requested;
  info.allocated = block.state == VRAMSTOW_BLOCK_LIVE;
  info.active = info.allocated || block.state == VRAMSTOW_BLOCK_PENDING;
  if (info.allocated) segment->allocated_size += block.size;
  if (info.active) segment->active_size += block.size;
  if (info.active) segment->requested_size += block.requested;
  if (info.allocated) {
    info.context_when_allocated = history_->ContextOf(reinterpret_cast<void*>(block.address));
  }
}

void Snapshots::AddSegments(Device* device, bool all, uint64_t pool,
                            std::vector<SegmentInfo>* segments) {
  const auto first = static_cast<ptrdiff_t>(segments->size());
  const vramstow_framework_block* last = nullptr;
  const auto blocks = AllBlocks(table_, device->handle);
  for (const vramstow_framework_block& block : blocks) {
    if (block.stream == kNoStream || (!all && block.pool != pool)) continue;
    if (last == nullptr || !Continues(*last, block)) segments->push_back(NewSegment(device, block));
    AddBlock(block, &segments->back());
    last = &block;
  }
  std::sort(segments->begin() + first, segments->end(),
            [](const SegmentInfo& a, const SegmentInfo& b) { return a.address < b.address; });
}

void Snapshots::AddTraces(std::vector<std::vector<TraceEntry>> traces, SnapshotInfo* snapshot) {
  if (snapshot->device_traces.size() < traces.size()) {
    snapshot->device_traces.resize(traces.size());
  }
  for (size_t i = 0; i < traces.size(); ++i) {
    auto& trace = snapshot->device_traces[i];
    // If PyTorch's own allocator served nothing, its history has only entries about snapshots. This
    // adapter's history contains these entries, too.
    if (!(*devices_)[static_cast<int>(i)].native_used) trace.clear();
    trace.insert(trace.end(), std::make_move_iterator(traces[i].begin()),
                 std::make_move_iterator(traces[i].end()));
  }
}

SnapshotInfo Snapshots::Take(MempoolId_t id, bool include_traces) {
  SnapshotInfo result = native_.Snapshot(id, include_traces);
  const bool all = id == MempoolId_t{0, 0};
  auto traces = history_->Entries(static_cast<size_t>(devices_->count()));
  for (int i = 0; i < devices_->count(); ++i) {
    Device& device = (*devices_)[i];
    if (device.handle < 0) continue;
    const uint64_t pool = all ? 0 : device.pools.NumberOf(id);
    if (!all && (pool == PoolRegistry::kCommon || pool == PoolRegistry::kNative)) continue;
    history_->Record(TraceEntry::SNAPSHOT, {device.index, 0, 0}, nullptr);
    AddSegments(&device, all, pool, &result.segments);
  }
  if (include_traces) AddTraces(std::move(traces), &result);
  return result;
}

}  // namespace vramstow::torch_adapter
