// The slow steps of a heap: where chunks come in, move and leave. The device's lock is held.
#include <algorithm>

#include "allocator/heap.h"

namespace vramstow {
namespace {

// Records that are made ready ahead, so that hits find them.
constexpr uint32_t kSpareSpans = 1024;
constexpr uint32_t kSpareBlocks = 1024;
constexpr uint64_t kFirstRegionBytes = uint64_t{256} << 20;
// Holes that a plan looks at.
constexpr int kMaxLooks = 512;
// Free spans that are stripped in one go.
constexpr int kBatch = 64;

}  // namespace

bool Heap::Prepare() {
  const bool ready = spans_.EnsureSpare(kSpareSpans) && map_.EnsureRoom(kSpareBlocks);
  const uint64_t bits = tracks_ ? stats.mapped_bytes[kSmallZone].load() / kBitsReach : 0;
  stats.host_bytes.store(spans_.committed_bytes() + uses_.committed_bytes() + map_.bytes() + bits,
                         std::memory_order_relaxed);
  if (!tracks_ && stats.live_blocks.load(std::memory_order_relaxed) >= kTracksFrom) Track();
  return ready;
}

// --- Plans --------------------------------------------------------------------------------------

DriverResult Heap::AddRegion(uint8_t zone, uint64_t size) {
  if (region_count_ == kMaxRegions || !spans_.EnsureSpare(1)) return kDriverOutOfMemory;
  uint64_t wanted = next_region_ > kFirstRegionBytes ? next_region_ : kFirstRegionBytes;
  if (wanted > around_.largest_region) wanted = around_.largest_region;
  if (wanted < size) wanted = size;
  uint64_t address = 0;
  uint64_t region_size = 0;
  DriverResult result = around_.space->TakeRegion(wanted, number, &address, &region_size);
  if (result == kDriverOutOfMemory && wanted > size) {
    result = around_.space->TakeRegion(size, number, &address, &region_size);
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
  parks_ = tracks_ && narrow_;
  return kDriverSuccess;
}

// Compares the ways to use one hole: by itself, or together with the free spans beside it.
void Heap::Consider(uint32_t hole, uint64_t size, Plan* plan) const {
  const Span& span = spans_[hole];
  const uint64_t page = around_.page_bytes;
  const auto is_free = [this](uint32_t index) {
    return index != 0 && spans_[index].state == SpanState::kFree;
  };
  const uint32_t low = is_free(span.previous) ? span.previous : 0;
  const uint32_t high = is_free(span.next) ? span.next : 0;
  const uint64_t below = low != 0 ? spans_[low].size : 0;
  const uint64_t above = high != 0 ? spans_[high].size : 0;
  // The fewest chunks; of those the one that leaves the smallest piece over, so that the pieces
  // at the edges of pages get used up.
  const auto offer = [&](uint64_t address, uint64_t count, uint32_t keep_low, uint32_t keep_high) {
    const uint64_t room = count * page + (keep_low != 0 ? below : 0) + (keep_high != 0 ? above : 0);
    if (room < size || count * page > span.size) return;
    const uint64_t left = room - size;
    if (plan->count != 0 && (plan->count < count || (plan->count == count && plan->left <= left))) {
      return;
    }
    *plan = {address, count, left, {keep_low, keep_high}};
  };
  const auto pages_for = [page](uint64_t bytes) { return (bytes + page - 1) / page; };
  offer(span.address, pages_for(size), 0, 0);
  if (below != 0 && below < size) offer(span.address, pages_for(size - below), low, 0);
  if (above != 0 && above < size) {
    const uint64_t count = pages_for(size - above);
    offer(span.address + span.size - count * page, count, 0, high);
  }
  if (below != 0 && above != 0) offer(span.address, span.size / page, low, high);
}

DriverResult Heap::MakePlan(uint64_t size, Plan* plan) {
  const uint8_t zone = ZoneOf(size);
  for (int attempt = 0; attempt < 2; ++attempt) {
    *plan = Plan();
    int looks = 0;
    zones_[zone].holes.VisitFrom(spans_, around_.page_bytes, [&](uint32_t hole) {
      Consider(hole, size, plan);
      return ++looks < kMaxLooks;
    });
    if (plan->count == 0) {
      // The looks may have gone to holes that are all too small.
      const uint32_t hole = zones_[zone].holes.Find(spans_, size + around_.page_bytes);
      if (hole != 0) Consider(hole, size, plan);
    }
    if (plan->count != 0) return kDriverSuccess;
    const DriverResult result = AddRegion(zone, PageUp(size));
    if (result != kDriverSuccess) return result;
  }
  return kDriverOutOfMemory;
}

DriverResult Heap::Execute(const Plan& plan) {
  if (!spans_.EnsureSpare(2)) return kDriverOutOfMemory;
  uint32_t hole = 0;
  for (Zone& zone : zones_) {
    zone.holes.VisitFrom(spans_, around_.page_bytes, [&](uint32_t index) {
      if (plan.address - spans_[index].address < spans_[index].size) hole = index;
      return hole == 0;
    });
  }
  if (hole == 0) return kDriverInvalidValue;
  const DriverResult result = around_.chunks->Map(plan.address, plan.count);
  if (result != kDriverSuccess) return result;
  Zone& zone = zones_[spans_[hole].zone];
  Bump(&stats.mapped_bytes[spans_[hole].zone], plan.count * around_.page_bytes);
  zone.holes.Remove(&spans_, hole);
  uint32_t index = hole;
  if (plan.address > spans_[hole].address) {
    index = SplitAt(hole, plan.address - spans_[hole].address);
    zone.holes.Insert(&spans_, hole);
  }
  const uint64_t size = plan.count * around_.page_bytes;
  if (size < spans_[index].size) zone.holes.Insert(&spans_, SplitAt(index, size));
  spans_[index].tick = 0;
  spans_[index].epoch = 0;
  Join(index);
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
  map_.Insert(address, index);
  return index;
}

// --- Stripping ----------------------------------------------------------------------------------

// Cuts [from, to), pages that are unmapped now, out of a free span that is in no index.
void Heap::MakeHole(uint32_t index, uint64_t from, uint64_t to) {
  Zone& zone = zones_[spans_[index].zone];
  if (from > spans_[index].address) {
    const uint32_t upper = SplitAt(index, from - spans_[index].address);
    zone.free.Insert(&spans_, index);
    index = upper;
  }
  if (to < spans_[index].address + spans_[index].size) {
    zone.free.Insert(&spans_, SplitAt(index, to - spans_[index].address));
  }
  spans_[index].state = SpanState::kHole;
  const auto absorb = [this](uint32_t low, uint32_t high) {
    spans_[low].size += spans_[high].size;
    spans_[low].next = spans_[high].next;
    if (spans_[high].next != 0) spans_[spans_[high].next].previous = low;
    spans_.Delete(high);
  };
  const uint32_t next = spans_[index].next;
  if (next != 0 && spans_[next].state == SpanState::kHole) {
    zone.holes.Remove(&spans_, next);
    absorb(index, next);
  }
  const uint32_t previous = spans_[index].previous;
  if (previous != 0 && spans_[previous].state == SpanState::kHole) {
    zone.holes.Remove(&spans_, previous);
    absorb(previous, index);
    index = previous;
  }
  zone.holes.Insert(&spans_, index);
}

// Unmaps up to `count` whole pages of a free span, beside a hole if there is one. Returns how many.
uint64_t Heap::StripSpan(uint32_t index, uint64_t count, DriverResult* result) {
  if (!spans_.EnsureSpare(2)) return 0;
  Span& span = spans_[index];
  const uint64_t page = around_.page_bytes;
  const uint64_t first = PageUp(span.address);
  const uint64_t last = PageDown(span.address + span.size);
  const uint64_t pages = (last - first) / page;
  if (count > pages) count = pages;
  const auto is_hole = [this](uint32_t i) { return i != 0 && spans_[i].state == SpanState::kHole; };
  const bool from_below = is_hole(span.previous) && !is_hole(span.next);
  uint64_t done = 0;
  while (done < count) {
    const uint64_t address = from_below ? first + done * page : last - (done + 1) * page;
    *result = around_.chunks->Unmap(address);
    if (*result != kDriverSuccess) break;
    ++done;
  }
  if (done == 0) return 0;
  Bump(&stats.mapped_bytes[span.zone], ~(done * page) + 1);
  zones_[span.zone].free.Remove(&spans_, index);
  if (from_below) {
    MakeHole(index, first, first + done * page);
  } else {
    MakeHole(index, last - done * page, last);
  }
  return done;
}

Heap::StripResult Heap::Strip(uint64_t count, uint32_t before_epoch, const Plan& plan) {
  StripResult strip;
  if (kept) return strip;
  EmptyBins(~uint64_t{0});
  const uint64_t page = around_.page_bytes;
  for (bool progress = true; progress && strip.pages < count;) {
    progress = false;
    strip.waiting = 0;
    uint32_t batch[kBatch];
    int found = 0;
    for (Zone& zone : zones_) {
      zone.free.VisitFrom(spans_, page, [&](uint32_t index) {
        const Span& span = spans_[index];
        const uint64_t first = PageUp(span.address);
        const uint64_t last = PageDown(span.address + span.size);
        if (first >= last || index == plan.keep[0] || index == plan.keep[1]) return true;
        if (span.epoch > before_epoch) return true;
        if (!around_.fences->Completed(timeline, span.tick)) {
          strip.waiting += (last - first) / page;
          return true;
        }
        batch[found++] = index;
        return found < kBatch;
      });
      if (found == kBatch) break;
    }
    for (int i = 0; i < found && strip.pages < count; ++i) {
      const uint64_t done = StripSpan(batch[i], count - strip.pages, &strip.result);
      strip.pages += done;
      if (done > 0) progress = true;
      if (strip.result != kDriverSuccess) return strip;
    }
  }
  return strip;
}

bool Heap::WaitForFrees(uint64_t deadline_ns) {
  // All ticks that pending blocks and free spans carry are at most the open one.
  bool all = around_.fences->WaitFor(timeline, around_.fences->OpenTick(timeline), deadline_ns);
  for (uint32_t i = pending_head_; i != 0; i = spans_[i].list_next) {
    for (uint32_t use = spans_[i].uses; use != 0; use = uses_[use].next) {
      all &= around_.fences->WaitFor(uses_[use].timeline, uses_[use].tick, deadline_ns);
    }
  }
  return all;
}

// --- The gate
// -------------------------------------------------------------------------------------

void Heap::Gate() {
  EmptyBins(~uint64_t{0});
  gated_ = true;
  gate_tick_ = around_.fences->OpenTick(timeline);
  around_.fences->Ensure(timeline, gate_tick_);
}

bool Heap::GateOpen() {
  if (gated_ && around_.fences->Completed(timeline, gate_tick_)) gated_ = false;
  return !gated_;
}

bool Heap::WaitForGate(uint64_t deadline_ns) {
  if (gated_) around_.fences->WaitFor(timeline, gate_tick_, deadline_ns);
  return GateOpen();
}

// --- Looking and leaving
// --------------------------------------------------------------------------

uint64_t Heap::FreePages() const {
  uint64_t pages = 0;
  for (const Zone& zone : zones_) {
    zone.free.VisitFrom(spans_, around_.page_bytes, [&](uint32_t index) {
      const uint64_t first = PageUp(spans_[index].address);
      const uint64_t last = PageDown(spans_[index].address + spans_[index].size);
      if (last > first) pages += (last - first) / around_.page_bytes;
      return true;
    });
  }
  return pages;
}

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
    const uint64_t page = around_.page_bytes;
    for (uint64_t at = 0; at < region.size; at += page) {
      if (around_.space->PageAt(region.address + at) == 0) continue;
      const DriverResult result = around_.chunks->RenewAccess(region.address + at);
      if (result != kDriverSuccess) return result;
    }
  }
  return kDriverSuccess;
}

void Heap::UnmapAll() {
  for (uint32_t r = 0; r < region_count_; ++r) {
    const Region& region = regions_[r];
    for (uint64_t at = 0; at < region.size; at += around_.page_bytes) {
      if (around_.space->PageAt(region.address + at) != 0) {
        around_.chunks->Unmap(region.address + at);
      }
    }
  }
}

}  // namespace vramstow
