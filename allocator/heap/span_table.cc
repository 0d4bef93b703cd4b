#include "allocator/heap/span_table.h"

#include <algorithm>

#include "allocator/core/host_memory.h"

namespace vramstow {

bool SpanTable::Open(uint64_t page_bytes, uint64_t small_bytes, uint32_t max_spans,
                     uint32_t max_regions) {
  page_bytes_ = page_bytes;
  small_bytes_ = small_bytes;
  page_shift_ = std::countr_zero(page_bytes);
  if (!slab_.Open(max_spans)) return false;
  max_regions_ = max_regions;
  hints_ = static_cast<uint32_t*>(AllocateHostMemory(kHints * sizeof(uint32_t)));
  return hints_ != nullptr;
}

void SpanTable::Close() {
  slab_.Close();
  if (regions_ != nullptr) FreeHostMemory(regions_, region_room_ * sizeof(Region));
  if (hints_ != nullptr) FreeHostMemory(hints_, kHints * sizeof(uint32_t));
  regions_ = nullptr;
  region_room_ = 0;
  hints_ = nullptr;
}

// --- Free spans and holes ------------------------------------------------------------------------

uint32_t SpanTable::FindHole(uint64_t from, uint64_t to) const {
  uint32_t hole = 0;
  for (const Zone& zone : zones_) {
    if (hole != 0) break;
    zone.holes.VisitFrom(slab_, page_bytes_, [&](uint32_t index) {
      const Span& span = slab_[index];
      if (span.address < to && from < span.address + span.size) hole = index;
      return hole == 0;
    });
  }
  return hole;
}

uint32_t SpanTable::FindSpan(uint64_t address) const {
  for (uint32_t r = 0; r < region_count_; ++r) {
    if (address - regions_[r].address >= regions_[r].size) continue;
    uint32_t index = BeginOfWalk(regions_[r], address);
    ++walked_;
    while (index != 0 && address - slab_[index].address >= slab_[index].size) {
      const uint32_t before = index;
      index = slab_[index].next;
      if (index != 0) NoteStep(before, index);
      ++walked_;
    }
    if (index != 0 && slab_[index].address <= PageDown(address)) HintAt(address) = index;
    return index;
  }
  return 0;
}

// Records a hint for later walks, which go from one span to the next. The hint of a page is the
// span in which the page begins.
void SpanTable::NoteStep(uint32_t before, uint32_t next) const {
  const uint64_t page = PageDown(slab_[next].address);
  if (slab_[next].address == page) {
    HintAt(page) = next;
  } else if (slab_[before].address <= page) {
    HintAt(page) = before;
  }
}

// Returns a span of the region at or below the address: the hint of its page, or the region's first
// span. The hint's record may have been reused for another span; any live record in that range is a
// valid start.
uint32_t SpanTable::BeginOfWalk(const Region& region, uint64_t address) const {
  const uint32_t hint = HintAt(address);
  if (hint == 0) return region.first;
  const Span& span = slab_[hint];
  const bool fits = span.state != SpanState::kNone && span.address - region.address < region.size &&
                    span.address <= address;
  return fits ? hint : region.first;
}

uint64_t SpanTable::LargestFree() const {
  const uint64_t small = zones_[kSmallZone].free.LargestSize(slab_);
  const uint64_t large = zones_[kLargeZone].free.LargestSize(slab_);
  return small > large ? small : large;
}

// --- Cutting and joining -------------------------------------------------------------------------

// Cuts a span in two: it shrinks to the lower part, and a new span gets the upper part.
uint32_t SpanTable::SplitAt(uint32_t index, uint64_t offset) {
  const uint32_t upper = slab_.New();
  Span& low = slab_[index];
  Span& high = slab_[upper];
  high.address = low.address + offset;
  high.size = low.size - offset;
  high.previous = index;
  high.next = low.next;
  high.tick = low.tick;
  high.epoch = low.epoch;
  high.state = low.state;
  high.zone = low.zone;
  if (low.next != 0) slab_[low.next].previous = upper;
  low.next = upper;
  low.size = offset;
  return upper;
}

// Merges the upper of two neighbours into the lower one.
void SpanTable::Absorb(uint32_t low, uint32_t high) {
  Span& a = slab_[low];
  const Span& b = slab_[high];
  a.size += b.size;
  a.next = b.next;
  if (b.next != 0) slab_[b.next].previous = low;
  if (b.tick > a.tick) a.tick = b.tick;
  if (b.epoch > a.epoch) a.epoch = b.epoch;
  Delete(high);
}

uint32_t SpanTable::JoinFree(uint32_t index) {
  SpanIndex& free = zones_[slab_[index].zone].free;
  slab_[index].state = SpanState::kFree;
  const uint32_t next = slab_[index].next;
  if (IsFree(next)) {
    free.Remove(&slab_, next);
    Absorb(index, next);
  }
  const uint32_t previous = slab_[index].previous;
  if (IsFree(previous)) {
    free.Remove(&slab_, previous);
    Absorb(previous, index);
    index = previous;
  }
  free.Insert(&slab_, index);
  return index;
}

void SpanTable::MakeHole(uint32_t index, uint64_t from, uint64_t to) {
  Zone& zone = zones_[slab_[index].zone];
  Subtract(&mapped_bytes_[slab_[index].zone], to - from);
  zone.free.Remove(&slab_, index);
  index = CutTaken(index, from - slab_[index].address, to - from);
  slab_[index].state = SpanState::kHole;
  const uint32_t next = slab_[index].next;
  if (IsHole(next)) {
    zone.holes.Remove(&slab_, next);
    Absorb(index, next);
  }
  const uint32_t previous = slab_[index].previous;
  if (IsHole(previous)) {
    zone.holes.Remove(&slab_, previous);
    Absorb(previous, index);
    index = previous;
  }
  zone.holes.Insert(&slab_, index);
}

void SpanTable::FillHole(uint32_t hole, uint64_t from, uint64_t size, uint32_t tick) {
  SpanIndex& holes = zones_[slab_[hole].zone].holes;
  Bump(&mapped_bytes_[slab_[hole].zone], size);
  holes.Remove(&slab_, hole);
  uint32_t index = hole;
  if (from > slab_[hole].address) {
    index = SplitAt(hole, from - slab_[hole].address);
    holes.Insert(&slab_, hole);
  }
  if (size < slab_[index].size) holes.Insert(&slab_, SplitAt(index, size));
  slab_[index].tick = tick;
  slab_[index].epoch = 0;
  JoinFree(index);
}

// --- Regions -------------------------------------------------------------------------------------

// Moves the records to an array of twice the size.
bool SpanTable::GrowRegions() {
  constexpr uint32_t kFirstRoom = 64;
  const uint32_t room = std::min(max_regions_, region_room_ == 0 ? kFirstRoom : 2 * region_room_);
  if (room == region_room_) return false;
  auto* larger = static_cast<Region*>(AllocateHostMemory(room * sizeof(Region)));
  if (larger == nullptr) return false;
  std::copy_n(regions_, region_count_, larger);
  if (regions_ != nullptr) FreeHostMemory(regions_, region_room_ * sizeof(Region));
  regions_ = larger;
  region_room_ = room;
  return true;
}

void SpanTable::AddHoleRegion(uint64_t address, uint64_t size, uint8_t zone) {
  const uint32_t index = slab_.New();
  Span& span = slab_[index];
  span.address = address;
  span.size = size;
  span.state = SpanState::kHole;
  span.zone = zone;
  zones_[zone].holes.Insert(&slab_, index);
  regions_[region_count_++] = {address, size, index, zone};
}

void SpanTable::AddFreeRegion(uint64_t address, uint64_t size, uint8_t zone, uint32_t epoch) {
  const uint32_t index = slab_.New();
  Span& span = slab_[index];
  span.address = address;
  span.size = size;
  span.epoch = epoch;
  span.state = SpanState::kFree;
  span.zone = zone;
  Bump(&mapped_bytes_[zone], size);
  zones_[zone].free.Insert(&slab_, index);
  regions_[region_count_++] = {address, size, index, zone};
}

void SpanTable::ForgetFreeRegion(uint32_t number) {
  const Region region = regions_[number];
  Subtract(&mapped_bytes_[region.zone], region.size);
  zones_[region.zone].free.Remove(&slab_, region.first);
  Delete(region.first);
  regions_[number] = regions_[--region_count_];
}

// --- Lists ---------------------------------------------------------------------------------------

void SpanTable::Link(uint32_t* head, uint32_t index) {
  Span& span = slab_[index];
  span.list_previous = 0;
  span.list_next = *head;
  if (*head != 0) slab_[*head].list_previous = index;
  *head = index;
}

void SpanTable::Unlink(uint32_t* head, uint32_t index) {
  const Span& span = slab_[index];
  if (span.list_next != 0) slab_[span.list_next].list_previous = span.list_previous;
  if (span.list_previous != 0) {
    slab_[span.list_previous].list_next = span.list_next;
  } else {
    *head = span.list_next;
  }
}

}  // namespace vramstow
