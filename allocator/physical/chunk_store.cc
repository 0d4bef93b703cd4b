#include "allocator/physical/chunk_store.h"

#include "allocator/core/counter.h"

namespace vramstow {

bool ChunkStore::Open(const DriverTable* driver, const PoolEvents* events, AddressSpace* space,
                      const Fences* fences, uint64_t limit_bytes, bool shadows) {
  driver_ = driver;
  events_ = events;
  space_ = space;
  fences_ = fences;
  shadows_ = shadows;
  budget_.set_limit_bytes(limit_bytes);
  return chunks_.Open(kMaxChunks);
}

// --- Idle chunks --------------------------------------------------------------------------------

void ChunkStore::PutIdle(uint32_t index) {
  Chunk& chunk = chunks_[index];
  if (chunk.kind == ChunkMemory::kNothing) {
    chunks_.Delete(index);
    --discarded_;
    return;
  }
  Idle& idle = idle_[static_cast<int>(chunk.kind)];
  chunk.place = 0;
  chunk.previous = 0;
  chunk.next = idle.head;
  if (idle.head != 0) chunks_[idle.head].previous = index;
  idle.head = index;
  Bump(&idle.count, 1);
}

void ChunkStore::TakeIdle(uint32_t index) {
  const Chunk& chunk = chunks_[index];
  Idle& idle = idle_[static_cast<int>(chunk.kind)];
  if (chunk.next != 0) chunks_[chunk.next].previous = chunk.previous;
  if (chunk.previous != 0) {
    chunks_[chunk.previous].next = chunk.next;
  } else {
    idle.head = chunk.next;
  }
  Bump(&idle.count, ~uint64_t{0});
}

// The page at which a chunk was in use is used no more.
void ChunkStore::EndUse(Page* page) {
  if (IsPaused(page->chunk)) Bump(&paused_, ~uint64_t{0});
  page->chunk = 0;
  --in_use_;
}

uint32_t ChunkStore::FindIdle(uint32_t timeline) const {
  uint32_t index = IdleHead(ChunkMemory::kDevice);
  while (index != 0 && !UsableBy(chunks_[index], timeline)) index = chunks_[index].next;
  return index;
}

uint64_t ChunkStore::IdleFor(uint32_t timeline) const {
  uint64_t count = 0;
  for (uint32_t index = IdleHead(ChunkMemory::kDevice); index != 0; index = chunks_[index].next) {
    if (UsableBy(chunks_[index], timeline)) ++count;
  }
  return count;
}

// --- Making and releasing -----------------------------------------------------------------------

DriverResult ChunkStore::Make(uint64_t count, uint64_t* made) {
  *made = 0;
  for (; *made < count; ++*made) {
    if (!chunks_.EnsureSpare(1)) return kDriverOutOfMemory;
    committed_.store(chunks_.committed_bytes(), std::memory_order_relaxed);
    uint64_t handle = 0;
    const DriverResult result = driver_->create(driver_->self, chunk_bytes(), &handle);
    events_->Physical(EventKind::kAllocate, handle, chunk_bytes(), result);
    if (result != kDriverSuccess) return result;
    const uint32_t index = chunks_.New();
    chunks_[index].handle = handle;
    PutIdle(index);
    budget_.Add(chunk_bytes());
  }
  return kDriverSuccess;
}

DriverResult ChunkStore::Release(uint64_t count, uint64_t* released) {
  *released = 0;
  uint32_t following = 0;
  for (uint32_t index = IdleHead(ChunkMemory::kDevice); *released < count && index != 0;
       index = following) {
    following = chunks_[index].next;
    // A chunk goes back to the device when it is mapped nowhere any more.
    DriverResult result = DropShadows(index, 0);
    if (result != kDriverSuccess) return result;
    if (chunks_[index].mappings != 0) continue;
    const uint64_t handle = chunks_[index].handle;
    const uint64_t told =
        events_->Physical(EventKind::kFree, handle, chunk_bytes(), kDriverSuccess);
    result = driver_->release(driver_->self, handle);
    if (result != kDriverSuccess) {
      events_->Refused(told, result);
      return result;
    }
    TakeIdle(index);
    chunks_.Delete(index);
    ++*released;
    budget_.Remove(chunk_bytes());
  }
  return kDriverSuccess;
}

// --- Mappings -----------------------------------------------------------------------------------

DriverResult ChunkStore::MapHandle(uint64_t address, uint32_t chunk) {
  const uint64_t handle = chunks_[chunk].handle;
  const DriverResult result = driver_->map(driver_->self, address, chunk_bytes(), handle);
  events_->Mapping(EventKind::kMap, address, chunk_bytes(), handle, result);
  return result;
}

DriverResult ChunkStore::UnmapHandle(uint64_t address, uint32_t chunk) {
  const uint64_t told = events_->Mapping(EventKind::kUnmap, address, chunk_bytes(),
                                         chunks_[chunk].handle, kDriverSuccess);
  const DriverResult result = driver_->unmap(driver_->self, address, chunk_bytes());
  if (result != kDriverSuccess) events_->Refused(told, result);
  return result;
}

DriverResult ChunkStore::GiveAccess(uint64_t address, uint64_t bytes) {
  const DriverResult result = driver_->set_access(driver_->self, address, bytes);
  events_->Mapping(EventKind::kAccess, address, bytes, 0, result);
  return result;
}

DriverResult ChunkStore::MapAt(uint32_t index, uint32_t number) {
  Chunk& chunk = chunks_[index];
  Page& page = (*space_)[number];
  const uint64_t address = space_->AddressOf(number);
  const uint64_t size = chunk_bytes();
  DriverResult result = driver_->map(driver_->self, address, size, chunk.handle);
  if (result != kDriverSuccess && chunk.mappings != 0 && DropShadows(index, 0) == kDriverSuccess &&
      chunk.mappings == 0) {
    // Perhaps this driver maps a handle only once: then no shadows are left any more.
    result = driver_->map(driver_->self, address, size, chunk.handle);
    if (result == kDriverSuccess) shadows_ = false;
  }
  events_->Mapping(EventKind::kMap, address, size, chunk.handle, result);
  if (result != kDriverSuccess) return result;
  page.mapped = index;
  page.next = chunk.pages;
  chunk.pages = number;
  ++chunk.mappings;
  ++mappings_;
  return kDriverSuccess;
}

// Removes the mapping of a page that no work takes any more.
DriverResult ChunkStore::UnmapAt(uint32_t number) {
  Page& page = (*space_)[number];
  Chunk& chunk = chunks_[page.mapped];
  const DriverResult result = UnmapHandle(space_->AddressOf(number), page.mapped);
  if (result != kDriverSuccess) return result;
  uint32_t* link = &chunk.pages;
  while (*link != number) link = &(*space_)[*link].next;
  *link = page.next;
  if (chunk.last == number) chunk.last = 0;
  if (chunk.home == number) chunk.home = 0;
  --chunk.mappings;
  --mappings_;
  page.mapped = 0;
  page.fresh = false;
  return kDriverSuccess;
}

// Unmaps shadows of a chunk, where work lets go of them, until it has at most so many mappings.
DriverResult ChunkStore::DropShadows(uint32_t index, uint32_t most) {
  uint32_t following = 0;
  for (uint32_t number = chunks_[index].pages; number != 0 && chunks_[index].mappings > most;
       number = following) {
    const Page& page = (*space_)[number];
    following = page.next;
    if (page.chunk != 0 || !fences_->Completed(page.timeline, page.tick)) continue;
    const DriverResult result = UnmapAt(number);
    if (result != kDriverSuccess) return result;
  }
  return kDriverSuccess;
}

void ChunkStore::Unmap(uint64_t address) {
  const uint32_t number = space_->NumberOf(address);
  Page& page = (*space_)[number];
  const uint32_t index = page.chunk;
  if (page.mapped != 0 && UnmapAt(number) != kDriverSuccess) return;
  if (index == 0) return;
  EndUse(&page);
  PutIdle(index);
}

// --- Moving -------------------------------------------------------------------------------------

void ChunkStore::PutToUse(uint32_t index, uint32_t number, uint32_t timeline, uint32_t* tick) {
  Chunk& chunk = chunks_[index];
  TakeIdle(index);
  if (chunk.last != 0) {
    const Page& last = (*space_)[chunk.last];
    if (last.timeline == timeline && last.tick > *tick) *tick = last.tick;
  }
  chunk.place = number;
  if (chunk.home == number) chunk.home = 0;
  (*space_)[number].chunk = index;
  ++in_use_;
}

// Brings any chunk that the stream may have to a page.
DriverResult ChunkStore::MapFresh(uint32_t number, uint32_t timeline, uint32_t* tick) {
  Page& page = (*space_)[number];
  if (page.mapped != 0) {
    // The shadow of a chunk that cannot come.
    if (!fences_->Completed(page.timeline, page.tick)) return kDriverNotReady;
    const DriverResult result = UnmapAt(number);
    if (result != kDriverSuccess) return result;
  }
  const uint32_t index = FindIdle(timeline);
  if (index == 0) return kDriverOutOfMemory;
  DropShadows(index, shadow_count() >= kMostShadows ? 0 : kMostMappings - 1);
  const DriverResult result = MapAt(index, number);
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
    const Chunk& chunk = chunks_[page.mapped];
    if (chunk.place == 0 && chunk.kind == ChunkMemory::kDevice && UsableBy(chunk, timeline)) {
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
    result = GiveAccess(from, bytes);
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
    if (page.fresh && UnmapAt(number) != kDriverSuccess) continue;
    page.fresh = false;
    EndUse(&page);
    PutIdle(index);
  }
}

void ChunkStore::DetachKeepMapped(uint64_t address, uint32_t timeline, uint32_t tick) {
  const uint32_t number = space_->NumberOf(address);
  Page& page = (*space_)[number];
  const uint32_t index = page.chunk;
  Chunk& chunk = chunks_[index];
  page.timeline = static_cast<uint16_t>(timeline);
  page.tick = tick;
  EndUse(&page);
  // Nothing reaches what lies under a paused page.
  const bool reached = !IsPaused(index) && !fences_->Completed(timeline, tick);
  chunk.last = reached ? number : 0;
  if (chunk.home == 0 && chunk.kind == ChunkMemory::kDevice) chunk.home = number;
  PutIdle(index);
}

DriverResult ChunkStore::Detach(uint64_t address, uint32_t timeline, uint32_t tick) {
  const bool keep = shadows_ && shadow_count() < kMostShadows && !OnHost(address);
  if (!fences_->Completed(timeline, tick) || keep) {
    DetachKeepMapped(address, timeline, tick);
    return kDriverSuccess;
  }
  const uint32_t number = space_->NumberOf(address);
  const uint32_t index = (*space_)[number].chunk;
  // An exchange may have left it in use but not mapped.
  const DriverResult result = (*space_)[number].mapped != 0 ? UnmapAt(number) : kDriverSuccess;
  if (result != kDriverSuccess) return result;
  EndUse(&(*space_)[number]);
  chunks_[index].last = 0;
  PutIdle(index);
  return kDriverSuccess;
}

void ChunkStore::Close(bool alive) {
  uint64_t released = 0;
  if (alive) {
    Release(idle_chunks(), &released);
    ReleaseHost(~uint64_t{0});
  }
  chunks_.Close();
  for (Idle& idle : idle_) {
    idle.head = 0;
    idle.count.store(0, std::memory_order_relaxed);
  }
  stuck_device_ = 0;
  discarded_ = 0;
  paused_.store(0, std::memory_order_relaxed);
  stuck_host_.store(0, std::memory_order_relaxed);
  host_bytes_.store(0, std::memory_order_relaxed);
  mappings_ = 0;
  in_use_ = 0;
  budget_.Clear();
}

}  // namespace vramstow
