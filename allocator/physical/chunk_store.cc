#include "allocator/physical/chunk_store.h"

#include "allocator/core/counter.h"

namespace vramstow {

bool ChunkStore::Open(const DriverTable* driver, const PoolEvents* events, AddressSpace* space,
                      const Fences* fences, uint64_t limit_bytes, bool shadows) {
  driver_ = driver;
  events_ = events;
  space_ = space;
  fences_ = fences;
  budget_.set_limit_bytes(limit_bytes);
  return table_.Open(driver, events, space, fences, shadows);
}

// --- Making and releasing -----------------------------------------------------------------------

DriverResult ChunkStore::Make(uint64_t count, uint64_t* made) {
  *made = 0;
  for (; *made < count; ++*made) {
    if (!table_.EnsureSpare()) return kDriverOutOfMemory;
    uint64_t handle = 0;
    const DriverResult result = driver_->create(driver_->self, chunk_bytes(), &handle);
    events_->Physical(EventKind::kAllocate, handle, chunk_bytes(), result);
    if (result != kDriverSuccess) return result;
    table_.Add(handle, ChunkMemory::kDevice);
    budget_.Add(chunk_bytes());
  }
  return kDriverSuccess;
}

DriverResult ChunkStore::Release(uint64_t count, uint64_t* released) {
  *released = 0;
  uint32_t following = 0;
  for (uint32_t index = table_.IdleHead(ChunkMemory::kDevice); *released < count && index != 0;
       index = following) {
    following = table_[index].next;
    // A chunk goes back to the device when it is mapped nowhere any more.
    DriverResult result = table_.DropShadows(index, 0);
    if (result != kDriverSuccess) return result;
    if (table_[index].mappings != 0) continue;
    const uint64_t handle = table_[index].handle;
    const uint64_t told =
        events_->Physical(EventKind::kFree, handle, chunk_bytes(), kDriverSuccess);
    result = driver_->release(driver_->self, handle);
    if (result != kDriverSuccess) {
      events_->Refused(told, result);
      return result;
    }
    table_.Remove(index);
    ++*released;
    budget_.Remove(chunk_bytes());
  }
  return kDriverSuccess;
}

void ChunkStore::Unmap(uint64_t address) {
  const uint32_t number = space_->NumberOf(address);
  Page& page = (*space_)[number];
  const uint32_t index = page.chunk;
  if (page.mapped != 0 && table_.UnmapAt(number) != kDriverSuccess) return;
  if (index == 0) return;
  table_.EndUse(&page);
  table_.PutIdle(index);
}

// --- Moving -------------------------------------------------------------------------------------

void ChunkStore::PutToUse(uint32_t index, uint32_t number, uint32_t timeline, uint32_t* tick) {
  ChunkTable::Chunk& chunk = table_[index];
  table_.TakeIdle(index);
  if (chunk.last != 0) {
    const Page& last = (*space_)[chunk.last];
    if (last.timeline == timeline && last.tick > *tick) *tick = last.tick;
  }
  table_.BeginUse(index, number);
}

// Brings any chunk that the stream may have to a page.
DriverResult ChunkStore::MapFresh(uint32_t number, uint32_t timeline, uint32_t* tick) {
  Page& page = (*space_)[number];
  if (page.mapped != 0) {
    // The shadow of a chunk that cannot come.
    if (!fences_->Completed(page.timeline, page.tick)) return kDriverNotReady;
    const DriverResult result = table_.UnmapAt(number);
    if (result != kDriverSuccess) return result;
  }
  const uint32_t index = table_.FindIdle(timeline);
  if (index == 0) return kDriverOutOfMemory;
  table_.DropShadows(
      index, shadow_count() >= ChunkTable::kMostShadows ? 0 : ChunkTable::kMostMappings - 1);
  const DriverResult result = table_.MapAt(index, number);
  if (result != kDriverSuccess) return result;
  PutToUse(index, number, timeline, tick);
  page.fresh = true;
  return kDriverSuccess;
}

DriverResult ChunkStore::Place(uint64_t address, uint64_t count, uint32_t timeline,
                               uint32_t* tick) {
  const uint64_t size = chunk_bytes();
  *tick = 0;
  // Those first that come home.
  for (uint64_t i = 0; i < count; ++i) {
    const uint32_t number = space_->NumberOf(address + i * size);
    const Page& page = (*space_)[number];
    // In use although in a hole: stuck here since an earlier failure, and welcome.
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
    if (page.chunk == 0) result = MapFresh(number, timeline, tick);
    if (!page.fresh) continue;
    if (first == count) first = i;
    last = i;
  }
  if (result == kDriverSuccess && first < count) {
    const uint64_t from = address + first * size;
    const uint64_t bytes = (last - first + 1) * size;
    result = table_.GiveAccess(from, bytes, /*host=*/false);
  }
  if (result != kDriverSuccess) {
    Undo(address, count);
    return result;
  }
  for (uint64_t i = first; i <= last && first < count; ++i) {
    space_->PageAt(address + i * size).fresh = false;
  }
  return kDriverSuccess;
}

// Takes back what Place has done so far.
void ChunkStore::Undo(uint64_t address, uint64_t count) {
  for (uint64_t i = count; i-- > 0;) {
    const uint32_t number = space_->NumberOf(address + i * chunk_bytes());
    Page& page = (*space_)[number];
    if (page.chunk == 0) continue;
    // A chunk that cannot even be unmapped is stuck: it stays in its page until that is used again.
    const uint32_t index = page.chunk;
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
  // Nothing reaches what lies under a paused page.
  const bool reached = !table_.IsPaused(index) && !fences_->Completed(timeline, tick);
  chunk.last = reached ? number : 0;
  if (chunk.home == 0 && chunk.kind == ChunkMemory::kDevice) chunk.home = number;
  table_.PutIdle(index);
}

DriverResult ChunkStore::Detach(uint64_t address, uint32_t timeline, uint32_t tick) {
  const bool keep = shadows() && shadow_count() < ChunkTable::kMostShadows && !OnHost(address);
  if (!fences_->Completed(timeline, tick) || keep) {
    DetachKeepMapped(address, timeline, tick);
    return kDriverSuccess;
  }
  const uint32_t number = space_->NumberOf(address);
  const uint32_t index = (*space_)[number].chunk;
  // An exchange may have left it in use but not mapped.
  const DriverResult result =
      (*space_)[number].mapped != 0 ? table_.UnmapAt(number) : kDriverSuccess;
  if (result != kDriverSuccess) return result;
  table_.EndUse(&(*space_)[number]);
  table_[index].last = 0;
  table_.PutIdle(index);
  return kDriverSuccess;
}

void ChunkStore::Close(bool alive) {
  uint64_t released = 0;
  if (alive) Release(idle_chunks(), &released);
  registered_pages_ = 0;
  budget_.Clear();
}

}  // namespace vramstow
