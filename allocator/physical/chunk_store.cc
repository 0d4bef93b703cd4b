#include "allocator/physical/chunk_store.h"

#include <algorithm>
#include <bit>

#include "allocator/core/counter.h"

namespace vramstow {

bool ChunkStore::Open(const DriverTable* driver, const PoolEvents* events, AddressSpace* space,
                      const Fences* fences, uint64_t limit_bytes, uint64_t max_shadows) {
  driver_ = driver;
  events_ = events;
  space_ = space;
  fences_ = fences;
  budget_.set_limit_bytes(limit_bytes);
  return table_.Open(driver, events, space, fences, max_shadows);
}

// --- Making and releasing -----------------------------------------------------------------------

// Returns the order of the largest chunk that may back a part of `pages` neighbouring pages.
uint32_t ChunkStore::OrderFor(uint64_t pages) const {
  const uint64_t share = reserved_bytes() / large_part_ / chunk_bytes();
  const uint64_t most = std::min({pages, large_pages_, share});
  if (most < 2) return 0;
  return std::min(static_cast<uint32_t>(std::bit_width(most)) - 1, ChunkTable::kLargestOrder);
}

DriverResult ChunkStore::MakeOne(uint32_t order) {
  if (!table_.EnsureSpare(uint32_t{1} << order)) return kDriverOutOfMemory;
  const uint64_t size = chunk_bytes() << order;
  uint64_t handle = 0;
  const DriverResult result = driver_->create(driver_->self, size, &handle);
  events_->Physical(EventKind::kAllocate, handle, size, result);
  if (result != kDriverSuccess) return result;
  if (order == 0) {
    table_.Add(handle, ChunkMemory::kDevice);
  } else {
    table_.AddLarge(handle, order);
  }
  budget_.Add(size);
  return kDriverSuccess;
}

DriverResult ChunkStore::Make(uint64_t count, uint64_t* made, uint64_t neighbours) {
  *made = 0;
  uint32_t most = ChunkTable::kLargestOrder;
  while (*made < count) {
    const uint64_t side_by_side = neighbours > *made ? neighbours - *made : 0;
    const uint32_t order = std::min(OrderFor(std::min(count - *made, side_by_side)), most);
    const DriverResult result = MakeOne(order);
    if (result == kDriverSuccess) {
      *made += uint64_t{1} << order;
    } else if (order != 0) {
      most = order - 1;
    } else {
      return result;
    }
  }
  return kDriverSuccess;
}

// Releases to the device an idle chunk that is mapped at no page.
DriverResult ChunkStore::ReleaseOne(uint32_t index) {
  const uint64_t handle = table_[index].handle;
  const uint64_t size = table_.PagesOf(index) * chunk_bytes();
  const uint64_t sequence = events_->Physical(EventKind::kFree, handle, size, kDriverSuccess);
  const DriverResult result = driver_->release(driver_->self, handle);
  if (result != kDriverSuccess) {
    events_->Refused(sequence, result);
    return result;
  }
  if (table_.IsLarge(index)) {
    table_.RemoveLarge(index);
  } else {
    table_.Remove(index);
  }
  budget_.Remove(size);
  return kDriverSuccess;
}

DriverResult ChunkStore::Release(uint64_t count, uint64_t* released) {
  *released = 0;
  uint32_t following = 0;
  for (uint32_t index = table_.IdleHead(ChunkMemory::kDevice); *released < count && index != 0;
       index = following) {
    following = table_[index].next;
    // A chunk can be released once it is mapped nowhere.
    DriverResult result = table_.DropShadows(index, 0);
    if (result != kDriverSuccess) return result;
    if (table_[index].mappings != 0) continue;
    result = ReleaseOne(index);
    if (result != kDriverSuccess) return result;
    ++*released;
  }
  while (*released < count && table_.IdleLargePages() != 0) {
    const uint32_t lead = table_.FindIdleLarge(uint64_t{1} << ChunkTable::kLargestOrder);
    const uint32_t pages = table_.PagesOf(lead);
    const DriverResult result = ReleaseOne(lead);
    if (result != kDriverSuccess) return result;
    *released += pages;
  }
  return kDriverSuccess;
}

// Releases the smallest idle large chunk and makes single chunks in its place. Returns success if
// at least one single chunk was made.
DriverResult ChunkStore::Dissolve() {
  uint32_t lead = 0;
  for (uint64_t pages = 2; lead == 0 && pages >> ChunkTable::kLargestOrder < 2; pages *= 2) {
    lead = table_.FindIdleLarge(pages);
  }
  if (lead == 0) return kDriverOutOfMemory;
  const uint32_t pages = table_.PagesOf(lead);
  const DriverResult released = ReleaseOne(lead);
  if (released != kDriverSuccess) return released;
  uint64_t made = 0;
  const DriverResult result = Make(pages, &made);
  return made != 0 ? kDriverSuccess : result;
}

void ChunkStore::DissolveLarge(uint64_t count) {
  while (table_.IdleOf(ChunkMemory::kDevice) < count && Dissolve() == kDriverSuccess) {
  }
}

DriverResult ChunkStore::RenewAccess(uint64_t address) {
  const Extent extent = ExtentOf(address);
  // If `address` is not the first page of a large chunk, nothing is left to do: the call for the
  // first page renews the access to all pages of that chunk.
  if (extent.address != address) return kDriverSuccess;
  return table_.SetAccess(address, extent.pages * chunk_bytes(), OnHost(address));
}

void ChunkStore::Unmap(uint64_t address) {
  const uint32_t number = space_->NumberOf(address);
  Page& page = (*space_)[number];
  const uint32_t index = page.chunk;
  if (IsLarge(page)) {
    table_.DetachLarge(table_[index].lead);
    return;
  }
  if (page.mapped != 0 && table_.UnmapAt(number) != kDriverSuccess) return;
  if (index == 0) return;
  table_.EndUse(&page);
  table_.PutIdle(index);
}

// --- Moving -------------------------------------------------------------------------------------

void ChunkStore::PutToUse(uint32_t index, uint32_t number, uint32_t timeline, uint32_t* tick) {
  ChunkTable::Chunk& chunk = table_[index];
  table_.RemoveIdle(index);
  if (chunk.last != 0) {
    const Page& last = (*space_)[chunk.last];
    if (last.timeline == timeline && last.tick > *tick) *tick = last.tick;
  }
  table_.BeginUse(index, number);
}

bool ChunkStore::ComesEarlier(const Page& page, uint64_t address) const {
  if (page.chunk != 0 || page.mapped == 0) return false;
  const Page* const first = &space_->PageAt(address);
  for (uint32_t number = table_[page.mapped].pages; number != 0; number = (*space_)[number].next) {
    const Page* const other = &(*space_)[number];
    if (other >= first && other < &page && other->chunk == 0) return true;
  }
  return false;
}

// Chooses any idle chunk that the stream may use, maps it at the page and puts it to use there.
DriverResult ChunkStore::MapFresh(uint32_t number, uint32_t timeline, uint32_t* tick) {
  Page& page = (*space_)[number];
  if (page.mapped != 0) {
    // The page has a mapping left over from a chunk that cannot be used here (a shadow).
    if (!fences_->Completed(page.timeline, page.tick)) return kDriverNotReady;
    const DriverResult result = table_.UnmapAt(number);
    if (result != kDriverSuccess) return result;
  }
  uint32_t index = table_.FindIdle(timeline);
  if (index == 0) {
    const DriverResult dissolved = Dissolve();
    if (dissolved != kDriverSuccess) return dissolved;
    index = table_.FindIdle(timeline);
  }
  table_.DropShadows(index, table_.HasRoomForShadow() ? ChunkTable::kMaxMappings - 1 : 0);
  const DriverResult result = table_.MapAt(index, number);
  if (result != kDriverSuccess) return result;
  PutToUse(index, number, timeline, tick);
  page.fresh = true;
  return kDriverSuccess;
}

// Returns an idle large chunk for the first of `pages` pages from this number on: the largest one
// that fits there as a whole. Returns 0 if there is none.
uint32_t ChunkStore::LargeFor(uint32_t number, uint64_t pages) {
  if (table_.IdleLargePages() == 0) return 0;
  const uint64_t most = std::min(pages, uint64_t{1} << ChunkTable::kLargestOrder);
  uint64_t empty = 0;
  while (empty < most) {
    const Page& page = (*space_)[number + static_cast<uint32_t>(empty)];
    if (page.chunk != 0 || page.mapped != 0) break;
    ++empty;
  }
  return table_.FindIdleLarge(empty);
}

DriverResult ChunkStore::Place(uint64_t address, uint64_t count, uint32_t timeline,
                               uint32_t* tick) {
  const uint64_t size = chunk_bytes();
  *tick = 0;
  // The chunks that are still mapped at these pages are used first.
  for (uint64_t i = 0; i < count; ++i) {
    const uint32_t number = space_->NumberOf(address + i * size);
    const Page& page = (*space_)[number];
    // An earlier failure may have left a chunk in use at a page of the hole. Such a page can be
    // used as it is.
    if (page.chunk != 0 || page.mapped == 0) continue;
    const ChunkTable::Chunk& chunk = table_[page.mapped];
    if (chunk.place == 0 && chunk.kind == ChunkMemory::kDevice &&
        table_.UsableBy(chunk, timeline)) {
      PutToUse(page.mapped, number, timeline, tick);
    }
  }
  uint64_t first = count;
  uint64_t last = 0;
  DriverResult result = kDriverSuccess;
  for (uint64_t i = 0; i < count && result == kDriverSuccess; ++i) {
    const uint32_t number = space_->NumberOf(address + i * size);
    const Page& page = (*space_)[number];
    if (page.chunk == 0) {
      const uint32_t lead = LargeFor(number, count - i);
      result = lead != 0 ? table_.PlaceLarge(lead, number) : MapFresh(number, timeline, tick);
    }
    if (!page.fresh) continue;
    if (first == count) first = i;
    last = i;
  }
  if (result == kDriverSuccess && first < count) {
    result = table_.GivePagesAccess(space_->NumberOf(address + first * size),
                                    static_cast<uint32_t>(last - first + 1), /*host=*/false);
  }
  if (result != kDriverSuccess) Undo(address, count);
  return result;
}

// Undoes what Place has done so far.
void ChunkStore::Undo(uint64_t address, uint64_t count) {
  for (uint64_t i = count; i-- > 0;) {
    const uint32_t number = space_->NumberOf(address + i * chunk_bytes());
    Page& page = (*space_)[number];
    if (page.chunk == 0) continue;
    // A chunk that cannot be unmapped is stuck: it counts as in use at its page until the page is
    // used again.
    const uint32_t index = page.chunk;
    if (IsLarge(page)) {
      // The large chunk was placed by this call, or is stuck since an earlier failure and may reach
      // beyond these pages.
      const Extent extent = ExtentOf(address + i * chunk_bytes());
      const bool within =
          extent.address >= address &&
          extent.address + extent.pages * chunk_bytes() <= address + count * chunk_bytes();
      if (page.fresh && within) table_.DetachLarge(table_[index].lead);
      i = within ? (extent.address - address) / chunk_bytes() : i;
      continue;
    }
    if (page.fresh && table_.UnmapAt(number) != kDriverSuccess) continue;
    page.fresh = false;
    table_.EndUse(&page);
    table_.PutIdle(index);
  }
}

void ChunkStore::DetachKeepMapped(uint64_t address, uint32_t timeline, uint32_t tick) {
  const uint32_t number = space_->NumberOf(address);
  Page& page = (*space_)[number];
  const uint32_t index = page.chunk;
  ChunkTable::Chunk& chunk = table_[index];
  page.timeline = static_cast<uint16_t>(timeline);
  page.tick = tick;
  table_.EndUse(&page);
  // No work can touch a paused page.
  const bool reached = !table_.IsPaused(index) && !fences_->Completed(timeline, tick);
  chunk.last = reached ? number : 0;
  if (chunk.home == 0 && chunk.kind == ChunkMemory::kDevice) chunk.home = number;
  table_.PutIdle(index);
}

DriverResult ChunkStore::Detach(uint64_t address, uint32_t timeline, uint32_t tick) {
  if (IsLarge(space_->PageAt(address))) {
    if (!fences_->Completed(timeline, tick)) return kDriverNotReady;
    return table_.DetachLarge(table_[space_->PageAt(address).chunk].lead);
  }
  const bool keep = shadows() && table_.HasRoomForShadow() && !OnHost(address);
  if (!fences_->Completed(timeline, tick) || keep) {
    DetachKeepMapped(address, timeline, tick);
    return kDriverSuccess;
  }
  const uint32_t number = space_->NumberOf(address);
  const uint32_t index = (*space_)[number].chunk;
  // After an exchange that failed, the page may be in use without being mapped.
  const DriverResult result =
      (*space_)[number].mapped != 0 ? table_.UnmapAt(number) : kDriverSuccess;
  if (result != kDriverSuccess) return result;
  table_.EndUse(&(*space_)[number]);
  table_[index].last = 0;
  table_.PutIdle(index);
  return kDriverSuccess;
}

// If a page is registered more often than the counter can count, it stays registered for good.
void ChunkStore::Register(uint64_t address) {
  Page& page = space_->PageAt(address);
  registered_pages_ += page.registered() ? 0 : 1;
  if (page.registrations < Page::kForGood) ++page.registrations;
}

void ChunkStore::Deregister(uint64_t address) {
  Page& page = space_->PageAt(address);
  if (!page.registered() || page.registrations == Page::kForGood) return;
  --page.registrations;
  registered_pages_ -= page.registered() ? 0 : 1;
}

void ChunkStore::RegisterForGood(uint64_t address) {
  Page& page = space_->PageAt(address);
  registered_pages_ += page.registered() ? 0 : 1;
  page.registrations = Page::kForGood;
}

void ChunkStore::Close(bool alive) {
  uint64_t released = 0;
  if (alive) Release(idle_chunks(), &released);
  registered_pages_ = 0;
  budget_.Clear();
}

}  // namespace vramstow
