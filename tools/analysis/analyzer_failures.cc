// What was refused, and what was free then.
#include <algorithm>

#include "tools/analysis/analyzer.h"

namespace vramstow {
namespace {

constexpr int32_t kOutOfMemoryResult = 2;  // CUDA_ERROR_OUT_OF_MEMORY

}  // namespace

void Analyzer::AddFailed(const Event& event) {
  ++levels_.Library(event.library).failed;
  ++levels_.Call(event.call).failed;
  ++levels_.Kind(event.memory).failed;
  if (event.kind == EventKind::kAllocate) {
    ++counts_.failed_allocations;
    if (IsDeviceMemory(event.memory)) {
      largest_request_ = std::max(largest_request_, RequestedBytes(event));
    }
  }
  if (event.result != kOutOfMemoryResult) return;
  ++counts_.out_of_memory;
  ++levels_.Device(event.device).out_of_memory;
  if (out_of_memory_.size() == kMostOutOfMemory) return;
  OutOfMemory failure;
  failure.call = event.call;
  failure.library = event.library;
  failure.site = stack_ != 0 ? sites_.Find(stack_, event.library, event.call) : 0;
  OutOfMemoryFacts& facts = failure.facts;
  facts.time_ns = now_ns_;
  facts.event = events_;
  facts.sequence = event.sequence;
  facts.requested_bytes = RequestedBytes(event);
  facts.device = event.device;
  facts.thread = event.thread;
  facts.memory = event.memory;
  TellDevice(levels_.Device(event.device), &facts);
  if (pool_space_.any()) {
    TellPool(&failure);
  } else if (address_space_.any_ranges()) {
    facts.largest_free_range_bytes = address_space_.Free(0).largest_bytes;
  }
  out_of_memory_.push_back(std::move(failure));
}

void Analyzer::TellDevice(const DeviceLevel& device, OutOfMemoryFacts* facts) {
  facts->allocated_bytes = device.allocated;
  facts->free_from = device.free_from;
  facts->free_known_at_ns = device.free_time_ns;
  if (device.free_from == FreeKnownFrom::kNothing) return;
  // Free then, plus what has been given back since, minus what has been taken.
  const uint64_t then = device.free + device.reserved_at_free;
  facts->free_bytes = then - std::min(then, device.reserved);
}

void Analyzer::TellPool(OutOfMemory* failure) const {
  OutOfMemoryFacts& facts = failure->facts;
  const FreeMemory free = pool_space_.Free(0);
  facts.has_pool = true;
  facts.largest_free_range_bytes = free.largest_bytes;
  facts.reserved_bytes = levels_.reserved();
  facts.pool_free_bytes = free.free_bytes;
  if (pool_space_.moves()) facts.pool_movable_bytes = free.movable_bytes;
  facts.pool_free_ranges = pool_space_.hole_count();
  facts.pending_bytes = pending_bytes_;
  const AddressRange hole = pool_space_.LargestHole();
  if (hole.size() == 0) return;
  facts.largest_hole.address = hole.from;
  facts.largest_hole.size = hole.size();
  const auto look = [&](const LiveBlock& block) {
    if (!block.pooled) return;
    if (block.address + block.size == hole.from) {
      facts.largest_hole.before_bytes = block.size;
      failure->before = block.site + 1;
    }
    if (block.address == hole.to) {
      facts.largest_hole.after_bytes = block.size;
      failure->after = block.site + 1;
    }
  };
  ForEachLive(look);
  for (const auto& [address, pending] : pending_) look(pending.block);
}

void Analyzer::AddMemoryInfo(const Event& event) {
  if (event.device == kNoDevice) return host_.Add(event, now_ns_);
  DeviceLevel& device = levels_.Device(event.device);
  device.free_from = FreeKnownFrom::kMemoryInfo;
  device.free = event.size;
  device.free_time_ns = now_ns_;
  device.reserved_at_free = device.reserved;
  // To the application, what our own pool has cached counts as free; our own looks have no call.
  if (pool_space_.moves() && event.call != kUnknownName && device.reserved > device.allocated) {
    device.free -= std::min(device.free, device.reserved - device.allocated);
  }
  if (device.lowest_free.has_value() && *device.lowest_free <= event.size) return;
  device.lowest_free = event.size;
  device.lowest_free_time_ns = now_ns_;
}

}  // namespace vramstow
