#include "adapters/torch/statistics.h"

namespace vramstow::torch_adapter {
namespace {

void AddStat(Stat* to, const Stat& from) {
  to->current += from.current;
  to->peak += from.peak;
  to->allocated += from.allocated;
  to->freed += from.freed;
}

// Adds the counts of PyTorch's own allocator, which cover the requests that it serves.
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
  to->num_sync_all_streams += from.num_sync_all_streams;
  to->num_device_alloc += from.num_device_alloc;
  to->num_device_free += from.num_device_free;
  AddStat(&to->oversize_allocations, from.oversize_allocations);
  AddStat(&to->oversize_segments, from.oversize_segments);
}

// This is a template, because not every release of PyTorch has this field.
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

void Statistics::UpdateReserved(Device* device) {
  vramstow_framework_stats stats;
  if (table_->stats(device->handle.load(std::memory_order_relaxed), &stats) != VRAMSTOW_OK) return;
  device->counters.Reserved(stats.mapped_small,
                            stats.reserved_bytes - stats.foreign_bytes - stats.mapped_small);
}

DeviceStats Statistics::Of(Device* device) {
  DeviceStats stats{};
  DeviceStats native{};
  if (device->native_used) native = native_->getDeviceStats(device->index);
  stats.max_split_size = max_split_size_;
  if (device->handle >= 0) {
    UpdateReserved(device);
    device->counters.Put(&stats);
    stats.num_alloc_retries = device->retries;
    stats.num_ooms = device->out_of_memory;
    stats.num_sync_all_streams = device->synchronizations;
    vramstow_framework_stats pool;
    if (table_->stats(device->handle, &pool) == VRAMSTOW_OK) {
      stats.num_device_alloc = static_cast<int64_t>(pool.grown_chunks - device->grown_at_reset);
      stats.num_device_free =
          static_cast<int64_t>(pool.released_chunks - device->released_at_reset);
    }
    PutPrivatePools(&stats, table_, device);
  }
  if (device->native_used) AddNative(&stats, native);
  return stats;
}

void Statistics::ResetAccumulated(Device* device) {
  device->counters.ResetAccumulated();
  device->retries = 0;
  device->out_of_memory = 0;
  device->synchronizations = 0;
  vramstow_framework_stats pool;
  if (device->handle >= 0 && table_->stats(device->handle, &pool) == VRAMSTOW_OK) {
    device->grown_at_reset = pool.grown_chunks;
    device->released_at_reset = pool.released_chunks;
  }
  native_->resetAccumulatedStats(device->index);
}

void Statistics::ResetPeaks(Device* device) {
  if (device->handle >= 0) UpdateReserved(device);
  device->counters.ResetPeaks();
  native_->resetPeakStats(device->index);
}

}  // namespace vramstow::torch_adapter
