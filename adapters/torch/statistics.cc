// Numbers: statistics, limits, and the list of all blocks.
#include <algorithm>

#include "adapters/torch/adapter.h"

namespace vramstow::torch_adapter {
namespace {

// Adds what PyTorch's own allocator counts, where it serves something, too.
void AddStat(c10::CachingAllocator::Stat* to, const c10::CachingAllocator::Stat& from) {
  to->current += from.current;
  to->peak += from.peak;
  to->allocated += from.allocated;
  to->freed += from.freed;
}

void AddNative(DeviceStats* to, const DeviceStats& from) {
  for (size_t i = 0; i < to->allocation.size(); ++i) {
    AddStat(&to->allocation[i], from.allocation[i]);
    AddStat(&to->active[i], from.active[i]);
    AddStat(&to->allocated_bytes[i], from.allocated_bytes[i]);
    AddStat(&to->active_bytes[i], from.active_bytes[i]);
    AddStat(&to->requested_bytes[i], from.requested_bytes[i]);
    AddStat(&to->reserved_bytes[i], from.reserved_bytes[i]);
    AddStat(&to->segment[i], from.segment[i]);
    AddStat(&to->inactive_split[i], from.inactive_split[i]);
    AddStat(&to->inactive_split_bytes[i], from.inactive_split_bytes[i]);
  }
  to->num_alloc_retries += from.num_alloc_retries;
  to->num_ooms += from.num_ooms;
}

uint64_t NativeReserved(CUDAAllocator* native, const Device& device) {
  if (!device.native_used) return 0;
  const int64_t bytes = native->getDeviceStats(device.index).reserved_bytes[0].current;
  return bytes > 0 ? static_cast<uint64_t>(bytes) : 0;
}

// Not in every release.
template <typename Stats>
void PutPrivatePools(Stats* stats, const vramstow_framework* table, Device* device) {
  if constexpr (requires { stats->reserved_bytes_by_private_pools; }) {
    for (const auto& [id, number] : device->pools.All()) {
      uint64_t small = 0;
      uint64_t large = 0;
      if (table->mapped(device->handle, number, &small, &large) != VRAMSTOW_OK) continue;
      auto& array = stats->reserved_bytes_by_private_pools[id];
      const uint64_t bytes[] = {small + large, small, large};
      for (size_t i = 0; i < 3; ++i) {
        array[i].current = array[i].peak = array[i].allocated = static_cast<int64_t>(bytes[i]);
      }
    }
  }
}

}  // namespace

void Adapter::NoteReserved(Device* device) {
  vramstow_framework_stats stats;
  if (table_->stats(device->handle.load(std::memory_order_relaxed), &stats) != VRAMSTOW_OK) return;
  device->counters.Reserved(stats.mapped_small,
                            stats.reserved_bytes - stats.foreign_bytes - stats.mapped_small);
}

DeviceStats Adapter::getDeviceStats(DeviceIndex index) {
  Device& device = At(index);
  DeviceStats stats{};
  DeviceStats native{};
  if (device.native_used) native = native_->getDeviceStats(index);
  stats.max_split_size = max_split_size_;
  if (device.handle >= 0) {
    NoteReserved(&device);
    device.counters.Put(&stats);
    stats.num_alloc_retries = device.retries;
    stats.num_ooms = device.out_of_memory;
    stats.num_sync_all_streams = device.synchronizations;
    vramstow_framework_stats pool;
    if (table_->stats(device.handle, &pool) == VRAMSTOW_OK) {
      stats.num_device_alloc = static_cast<int64_t>(pool.grown_chunks);
      stats.num_device_free = static_cast<int64_t>(pool.released_chunks);
    }
    PutPrivatePools(&stats, table_, &device);
  }
  if (device.native_used) AddNative(&stats, native);
  return stats;
}

void Adapter::resetAccumulatedStats(DeviceIndex index) {
  Device& device = At(index);
  device.counters.ResetAccumulated();
  device.retries = 0;
  device.out_of_memory = 0;
  device.synchronizations = 0;
  native_->resetAccumulatedStats(index);
}

void Adapter::resetPeakStats(DeviceIndex index) {
  Device& device = At(index);
  if (device.handle >= 0) NoteReserved(&device);
  device.counters.ResetPeaks();
  native_->resetPeakStats(index);
}

void Adapter::emptyCache(MempoolId_t id) {
  for (int i = 0; i < device_count_; ++i) {
    Device& device = devices_[i];
    const int handle = device.handle;
    if (handle < 0) continue;
    uint64_t released = 0;
    const uint64_t number = device.pools.NumberOf(id);
    const bool lets_go = number != PrivatePools::kCommon && number != PrivatePools::kNative &&
                         device.pools.UseCount(id) == 0;
    if (lets_go) table_->keep(handle, number, 0);
    const History::Mapping mapping(history_.Gather(caching::RecordContext::ALL));
    if (table_->trim(handle, 1, &released) == VRAMSTOW_OK) ++device.synchronizations;
    NoteReserved(&device);
  }
  native_->emptyCache(id);
  for (int i = 0; i < device_count_; ++i) {
    Device& device = devices_[i];
    if (device.has_fraction && device.native_used && device.handle >= 0) ApplyFraction(&device);
  }
}

double Adapter::getMemoryFraction(DeviceIndex index) {
  Device& device = At(index);
  return device.has_fraction ? device.fraction.load() : native_->getMemoryFraction(index);
}

void Adapter::setMemoryFraction(double fraction, DeviceIndex index) {
  TORCH_CHECK(0 <= fraction && fraction <= 1, "invalid fraction:", fraction,
              ". Please set within [0, 1].");
  Device& device = At(index);
  device.fraction = fraction;
  device.has_fraction = true;
  if (device.handle >= 0) ApplyFraction(&device);
  native_->setMemoryFraction(fraction, index);
}

void Adapter::ApplyFraction(Device* device) {
  vramstow_framework_stats stats;
  const int handle = device->handle;
  if (table_->stats(handle, &stats) != VRAMSTOW_OK) return;
  const double fraction = device->fraction;
  const auto bytes = static_cast<uint64_t>(fraction * static_cast<double>(stats.total_bytes));
  // What PyTorch's own allocator took itself is a part of it.
  const uint64_t native = NativeReserved(native_, *device);
  // Nothing at all is a limit, too.
  const uint64_t rest = bytes > native ? bytes - native : 1;
  table_->set_limit(handle, fraction >= 1 ? 0 : rest);
}

void Adapter::LimitNative(Device* device) {
  vramstow_framework_stats stats;
  if (table_->stats(device->handle, &stats) != VRAMSTOW_OK || stats.total_bytes == 0) return;
  const auto total = static_cast<double>(stats.total_bytes);
  const auto ours = static_cast<double>(stats.mapped_small + stats.mapped_large);
  native_->setMemoryFraction(std::clamp(device->fraction - ours / total, 0.0, 1.0), device->index);
}

std::vector<caching::StreamSegmentSize> Adapter::getExpandableSegmentSizes(DeviceIndex) {
  return {};
}

// Chunks can be put together at will, so all that is free could be one block.
void Adapter::cacheInfo(DeviceIndex index, size_t* largest) {
  const c10::cuda::CUDAGuard guard(index);
  size_t free_bytes = 0;
  size_t total_bytes = 0;
  C10_CUDA_CHECK(cudaMemGetInfo(&free_bytes, &total_bytes));
  if (*largest < free_bytes) *largest = free_bytes;
}

void* Adapter::getBaseAllocation(void* data, size_t* size) {
  vramstow_framework_block block;
  const int result = table_->find(reinterpret_cast<uint64_t>(data), &block);
  if (result != VRAMSTOW_OK || block.state == VRAMSTOW_BLOCK_FOREIGN) {
    return native_->getBaseAllocation(data, size);
  }
  if (size != nullptr) *size = block.size;
  return reinterpret_cast<void*>(block.address);
}

// --- All blocks ---------------------------------------------------------------------------------

// Runs of mapped memory are told as segments that can grow.
void Adapter::AddSegments(Device* device, bool all, uint64_t pool,
                          std::vector<SegmentInfo>* segments) {
  std::vector<vramstow_framework_block> blocks;
  table_->visit(
      device->handle,
      [](void* context, const vramstow_framework_block* block) {
        static_cast<std::vector<vramstow_framework_block>*>(context)->push_back(*block);
      },
      &blocks);
  constexpr uint64_t kNoStream = ~uint64_t{0};
  const size_t first = segments->size();
  uint64_t end = 0;
  uint64_t heap[2] = {kNoStream, 0};
  for (const vramstow_framework_block& block : blocks) {
    if (block.stream == kNoStream || (!all && block.pool != pool)) continue;
    const bool is_large = block.is_large != 0;
    if (segments->size() == first || block.address != end || block.stream != heap[0] ||
        block.pool != heap[1] || segments->back().is_large != is_large) {
      SegmentInfo& segment = segments->emplace_back();
      segment.device = device->index;
      segment.address = block.address;
      segment.stream = reinterpret_cast<void*>(block.stream);
      segment.is_large = is_large;
      segment.is_expandable = true;
      segment.registration_counter = 0;
      segment.owner_private_pool_id = device->pools.IdOf(block.pool);
      heap[0] = block.stream;
      heap[1] = block.pool;
    }
    end = block.address + block.size;
    SegmentInfo& segment = segments->back();
    segment.total_size += block.size;
    // What is free lies in pieces for a while; who looks sees one.
    if (block.state == VRAMSTOW_BLOCK_FREE && !segment.blocks.empty() &&
        !segment.blocks.back().active) {
      segment.blocks.back().size += block.size;
      continue;
    }
    auto& info = segment.blocks.emplace_back();
    info.size = block.size;
    info.requested_size = block.requested;
    info.allocated = block.state == VRAMSTOW_BLOCK_LIVE;
    info.active = info.allocated || block.state == VRAMSTOW_BLOCK_PENDING;
    if (info.allocated) segment.allocated_size += block.size;
    if (info.active) segment.active_size += block.size;
    if (info.active) segment.requested_size += block.requested;
    if (info.allocated) {
      info.context_when_allocated = history_.ContextOf(reinterpret_cast<void*>(block.address));
    }
  }
  std::sort(segments->begin() + static_cast<ptrdiff_t>(first), segments->end(),
            [](const SegmentInfo& a, const SegmentInfo& b) { return a.address < b.address; });
}

SnapshotInfo Adapter::snapshot(MempoolId_t id, bool include_traces) {
  // Settings, annotations and host memory are PyTorch's own.
  SnapshotInfo result = native_->snapshot(id, include_traces);
  const bool all = id == MempoolId_t{0, 0};
  auto traces = history_.Entries(static_cast<size_t>(device_count_.load()));
  for (int i = 0; i < device_count_; ++i) {
    Device& device = devices_[i];
    if (device.handle < 0) continue;
    const uint64_t pool = all ? 0 : device.pools.NumberOf(id);
    if (!all && (pool == PrivatePools::kCommon || pool == PrivatePools::kNative)) continue;
    history_.Record(TraceEntry::SNAPSHOT, {device.index, 0, 0}, nullptr);
    AddSegments(&device, all, pool, &result.segments);
  }
  if (!include_traces) return result;
  if (result.device_traces.size() < traces.size()) result.device_traces.resize(traces.size());
  for (size_t i = 0; i < traces.size(); ++i) {
    auto& trace = result.device_traces[i];
    // Where nothing was asked of PyTorch's own allocator, its list has only the snapshots.
    if (!devices_[i].native_used) trace.clear();
    trace.insert(trace.end(), std::make_move_iterator(traces[i].begin()),
                 std::make_move_iterator(traces[i].end()));
  }
  return result;
}

}  // namespace vramstow::torch_adapter
