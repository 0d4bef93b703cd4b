#include "tools/analysis/accounts/failures.h"

#include <algorithm>
#include <string>
#include <utility>

#include "base/driver_result.h"
#include "tools/base/library_name.h"

namespace vramstow {
void Failures::Add(const Event& event) {
  accounts_.CountFailedCall(event.library, event.call, event.memory);
  Counts& counts = accounts_.counts();
  if (event.kind == EventKind::kAllocate) {
    ++counts.failed_allocations;
    if (IsDeviceMemory(event.memory)) accounts_.Request(RequestedBytes(event));
  }
  if (event.result != kOutOfMemoryResult) return;
  ++counts.out_of_memory;
  ++accounts_.levels().Device(event.device).out_of_memory;
  if (out_of_memory_.size() == kMostOutOfMemory) return;
  OutOfMemory failure;
  failure.call = event.call;
  failure.library = event.library;
  failure.site = accounts_.SiteByStack(event);
  failure.facts.site_number = failure.site;
  OutOfMemoryFacts& facts = failure.facts;
  facts.time_ns = accounts_.now_ns();
  facts.event = accounts_.events();
  facts.sequence = event.sequence;
  facts.requested_bytes = RequestedBytes(event);
  facts.device = event.device;
  facts.thread = event.thread;
  facts.memory = event.memory;
  FillDevice(accounts_.levels().Device(event.device), &facts);
  if (space_.pool().any()) {
    FillPool(&failure);
  } else if (space_.addresses().any_ranges()) {
    facts.largest_free_range_bytes = space_.addresses().Free(0).largest_bytes;
  }
  out_of_memory_.push_back(std::move(failure));
}

void Failures::FillDevice(const DeviceLevel& device, OutOfMemoryFacts* facts) {
  facts->allocated_bytes = device.allocated;
  facts->free_from = device.free_from;
  facts->free_known_at_ns = device.free_time_ns;
  if (device.free_from == FreeKnownFrom::kNothing) return;
  // Free then, plus what has been given back since, minus what has been taken.
  const uint64_t then = device.free + device.reserved_at_free;
  facts->free_bytes = then - std::min(then, device.reserved);
}

// Memory on other devices is of no use to a request on this one.
bool Failures::IsOnlyPool(int16_t device) const {
  const std::vector<DeviceLevel>& devices = accounts_.levels().devices();
  for (size_t i = 0; i < devices.size(); ++i) {
    if (static_cast<int64_t>(i) - 1 != device && devices[i].reserved != 0) return false;
  }
  return true;
}

void Failures::FillFree(const FreeMemory& free, uint64_t holes, OutOfMemoryFacts* facts) const {
  facts->largest_free_range_bytes = free.largest_bytes;
  facts->pool_free_bytes = free.free_bytes;
  if (space_.pool().moves()) facts->pool_movable_bytes = free.movable_bytes;
  facts->pool_free_ranges = holes;
}

void Failures::FillPool(OutOfMemory* failure) const {
  OutOfMemoryFacts& facts = failure->facts;
  const auto device = static_cast<int16_t>(facts.device);
  AddressRange hole;
  facts.has_pool = true;
  facts.pending_bytes = blocks_.PendingBytes(device);
  if (IsOnlyPool(device)) {
    const PoolSpace& pool = space_.pool();
    facts.reserved_bytes = accounts_.levels().reserved();
    FillFree(pool.Free(0), pool.hole_count(), &facts);
    hole = pool.LargestHole();
  } else {
    const PoolSegments::FreeOnDevice free = segments_.FreeOn(device);
    facts.reserved_bytes = accounts_.levels().Device(device).reserved;
    FillFree(free.holes.Free(0, free.unplaced_bytes), free.holes.count(), &facts);
    hole = free.holes.Largest();
  }
  if (hole.size() == 0) return;
  facts.largest_hole.address = hole.from;
  facts.largest_hole.size = hole.size();
  blocks_.ForEachPooled([&](const LiveBlock& block) {
    if (block.address + block.size == hole.from) {
      facts.largest_hole.before_bytes = block.size;
      failure->before = block.site + 1;
    }
    if (block.address == hole.to) {
      facts.largest_hole.after_bytes = block.size;
      failure->after = block.site + 1;
    }
  });
}

std::vector<OutOfMemoryFacts> Failures::Facts(const EventSource& source,
                                              const std::vector<SiteDetail>& sites) const {
  const auto name = [&sites](uint32_t from_1) {
    return from_1 == 0 ? std::string() : sites[from_1 - 1].site;
  };
  std::vector<OutOfMemoryFacts> all;
  all.reserve(out_of_memory_.size());
  for (const OutOfMemory& failure : out_of_memory_) {
    OutOfMemoryFacts facts = failure.facts;
    facts.call = source.CallName(failure.call);
    facts.library = LibraryName(source.LibraryPath(failure.library));
    facts.largest_hole.before = name(failure.before);
    facts.largest_hole.after = name(failure.after);
    const SiteDetail& site = sites[failure.site];
    if (site.by_stack) {
      facts.site = site.site;
      facts.operation = site.operation;
    }
    all.push_back(std::move(facts));
  }
  return all;
}

}  // namespace vramstow
