// The slow steps of a heap beside plans and moves: records, regions, waits and looks. The device's
// lock is held.
#include <algorithm>

#include "allocator/heap/heap.h"

namespace vramstow {
namespace {

// Records that are made ready ahead, so that hits find them.
constexpr uint32_t kSpareSpans = 1024;
constexpr uint32_t kSpareBlocks = 1024;
constexpr uint64_t kFirstRegionBytes = uint64_t{256} << 20;

}  // namespace

bool Heap::Prepare() {
  const bool ready = spans_.EnsureSpare(kSpareSpans) && map_.EnsureRoom(kSpareBlocks);
  const uint64_t bits = tracks_ ? stats.mapped_bytes[kSmallZone].load() / kBitsReach : 0;
  stats.host_bytes.store(spans_.committed_bytes() + uses_.committed_bytes() + map_.bytes() + bits,
                         std::memory_order_relaxed);
  // Segments come and go, and may come back as another heap's.
  const bool stays = !with_.chunks->segments();
  if (!tracks_ && stays && stats.live_blocks.load(std::memory_order_relaxed) >= kTracksFrom) {
    Track();
  }
  return ready;
}

DriverResult Heap::AddRegion(uint8_t zone, uint64_t size) {
  if (region_count_ == kMaxRegions || !spans_.EnsureSpare(1)) return kDriverOutOfMemory;
  uint64_t wanted = next_region_ > kFirstRegionBytes ? next_region_ : kFirstRegionBytes;
  if (wanted > with_.largest_region) wanted = with_.largest_region;
  if (wanted < size) wanted = size;
  uint64_t address = 0;
  uint64_t region_size = 0;
  DriverResult result = with_.space->TakeRegion(wanted, number, &address, &region_size);
  if (result == kDriverOutOfMemory && wanted > size) {
    result = with_.space->TakeRegion(size, number, &address, &region_size);
  }
  if (result != kDriverSuccess) return result;
  next_region_ = region_size * 2;
  const uint32_t index = spans_.New();
  Span& span = spans_[index];
  span.address = address;
  span.size = region_size;
  span.state = SpanState::kHole;
  span.zone = zone;
  zones_[zone].holes.Insert(&spans_, index);
  regions_[region_count_++] = {address, region_size, index, zone};
  if (tracks_ && zone == kSmallZone) bits_.Cover(address, region_size);
  for (uint32_t r = 0; r < region_count_; ++r) {
    const uint64_t apart =
        std::max(regions_[r].address, address) - std::min(regions_[r].address, address);
    if (apart + std::max(regions_[r].size, region_size) > AddressMap::kKeyReach) narrow_ = false;
  }
  defers_ = tracks_ && narrow_;
  return kDriverSuccess;
}

uint32_t Heap::TakeAt(uint64_t address, uint64_t size) {
  Settle();
  uint32_t index = 0;
  for (uint32_t r = 0; r < region_count_ && index == 0; ++r) {
    if (address - regions_[r].address >= regions_[r].size) continue;
    index = regions_[r].first;
    while (address - spans_[index].address >= spans_[index].size) index = spans_[index].next;
  }
  if (index == 0 || spans_[index].state != SpanState::kFree) return 0;
  const uint64_t offset = address - spans_[index].address;
  if (spans_[index].size - offset < size) return 0;
  Zone& zone = zones_[spans_[index].zone];
  zone.free.Remove(&spans_, index);
  if (offset != 0) {
    const uint32_t upper = SplitAt(index, offset);
    zone.free.Insert(&spans_, index);
    index = upper;
  }
  if (spans_[index].size != size) zone.free.Insert(&spans_, SplitAt(index, size));
  spans_[index].state = SpanState::kLive;
  spans_[index].epoch = PlacementPredictor::kNoName;
  map_.Insert(address, index);
  return index;
}

bool Heap::WaitForFrees(uint64_t deadline_ns) {
  // All ticks that pending blocks and free spans carry are at most the open one.
  bool all = with_.fences->WaitFor(timeline, with_.fences->OpenTick(timeline), deadline_ns);
  for (uint32_t i = pending_head_; i != 0; i = spans_[i].list_next) {
    for (uint32_t use = spans_[i].uses; use != 0; use = uses_[use].next) {
      all &= with_.fences->WaitFor(uses_[use].timeline, uses_[use].tick, deadline_ns);
    }
  }
  return all;
}

// --- The gate
// -------------------------------------------------------------------------------------

void Heap::Gate() {
  EmptyBins(~uint64_t{0});
  gated_ = true;
  gate_tick_ = with_.fences->OpenTick(timeline);
  with_.fences->Ensure(timeline, gate_tick_);
}

bool Heap::GateOpen() {
  if (gated_ && with_.fences->Completed(timeline, gate_tick_)) gated_ = false;
  return !gated_;
}

bool Heap::WaitForGate(uint64_t deadline_ns) {
  if (gated_) with_.fences->WaitFor(timeline, gate_tick_, deadline_ns);
  return GateOpen();
}

// --- Looking and leaving
// --------------------------------------------------------------------------

uint64_t Heap::LargestFree() const {
  const uint64_t small = zones_[kSmallZone].free.LargestSize(spans_);
  const uint64_t large = zones_[kLargeZone].free.LargestSize(spans_);
  return small > large ? small : large;
}

uint32_t Heap::FindAround(uint64_t address) const {
  const uint32_t exact = FindLive(address);
  if (exact != 0) return exact;
  for (uint32_t r = 0; r < region_count_; ++r) {
    const Region& region = regions_[r];
    if (address - region.address >= region.size) continue;
    for (uint32_t i = region.first; i != 0; i = spans_[i].next) {
      if (address - spans_[i].address >= spans_[i].size) continue;
      return spans_[i].state == SpanState::kLive ? i : 0;
    }
  }
  return 0;
}

DriverResult Heap::RenewAccess() {
  for (uint32_t r = 0; r < region_count_; ++r) {
    const Region& region = regions_[r];
    const uint64_t page = with_.page_bytes;
    for (uint64_t at = 0; at < region.size; at += page) {
      if (with_.space->PageAt(region.address + at).mapped == 0) continue;
      const DriverResult result = with_.chunks->RenewAccess(region.address + at);
      if (result != kDriverSuccess) return result;
    }
  }
  return kDriverSuccess;
}

void Heap::UnmapAll() {
  for (uint32_t r = 0; r < region_count_; ++r) {
    const Region& region = regions_[r];
    for (uint64_t at = 0; at < region.size; at += with_.page_bytes) {
      with_.chunks->Unmap(region.address + at);
    }
  }
}

}  // namespace vramstow
