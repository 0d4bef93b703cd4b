#include "allocator/physical/chunk_table.h"

#include "allocator/core/counter.h"

namespace vramstow {

bool ChunkTable::Open(const DriverTable* driver, const PoolEvents* events, AddressSpace* space,
                      const Fences* fences, uint64_t max_shadows) {
  driver_ = driver;
  events_ = events;
  space_ = space;
  fences_ = fences;
  shadows_ = max_shadows != 0;
  max_shadows_ = max_shadows;
  return chunks_.Open(kMaxChunks);
}

void ChunkTable::Close() {
  chunks_.Close();
  for (Idle& idle : idle_) {
    idle.head = 0;
    idle.count.store(0, std::memory_order_relaxed);
  }
  for (uint32_t& lead : idle_large_) lead = 0;
  idle_large_pages_.store(0, std::memory_order_relaxed);
  large_ = 0;
  discarded_ = 0;
  paused_.store(0, std::memory_order_relaxed);
  parked_.store(0, std::memory_order_relaxed);
  mappings_ = 0;
  in_use_ = 0;
}

// --- Records and idle chunks ---------------------------------------------------------------------

bool ChunkTable::EnsureSpare(uint32_t count) {
  if (!chunks_.EnsureSpare(count)) return false;
  committed_.store(chunks_.committed_bytes(), std::memory_order_relaxed);
  return true;
}

void ChunkTable::Add(uint64_t handle, ChunkMemory kind) {
  const uint32_t index = chunks_.New();
  chunks_[index].handle = handle;
  chunks_[index].kind = kind;
  PutIdle(index);
}

uint32_t ChunkTable::AddNothing() {
  const uint32_t index = chunks_.New();
  chunks_[index].kind = ChunkMemory::kNothing;
  ++discarded_;
  return index;
}

void ChunkTable::Remove(uint32_t index) {
  RemoveIdle(index);
  chunks_.Delete(index);
}

// Puts a chunk on the list of idle chunks. For a large chunk `index` is its lead.
void ChunkTable::PutIdle(uint32_t index) {
  Chunk& chunk = chunks_[index];
  if (chunk.lead != 0) {
    if (chunk.lead == index) LinkLarge(index);
    return;
  }
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

void ChunkTable::RemoveIdle(uint32_t index) {
  const Chunk& chunk = chunks_[index];
  Idle& idle = idle_[static_cast<int>(chunk.kind)];
  if (chunk.next != 0) chunks_[chunk.next].previous = chunk.previous;
  if (chunk.previous != 0) {
    chunks_[chunk.previous].next = chunk.next;
  } else {
    idle.head = chunk.next;
  }
  Subtract(&idle.count, 1);
}

// Ends the use of the chunk at this page.
void ChunkTable::EndUse(Page* page) {
  if (IsPaused(page->chunk)) EndPause(page->chunk);
  page->chunk = 0;
  --in_use_;
}

uint32_t ChunkTable::FindIdle(uint32_t timeline) const {
  uint32_t index = IdleHead(ChunkMemory::kDevice);
  while (index != 0 && !UsableBy(chunks_[index], timeline)) index = chunks_[index].next;
  return index;
}

uint64_t ChunkTable::IdleFor(uint32_t timeline) const {
  uint64_t count = IdleLargePages();  // no work touches these
  for (uint32_t index = IdleHead(ChunkMemory::kDevice); index != 0; index = chunks_[index].next) {
    if (UsableBy(chunks_[index], timeline)) ++count;
  }
  return count;
}

void ChunkTable::BeginUse(uint32_t index, uint32_t number) {
  Chunk& chunk = chunks_[index];
  chunk.place = number;
  if (chunk.home == number) chunk.home = 0;
  (*space_)[number].chunk = index;
  ++in_use_;
}

void ChunkTable::BeginPause(uint32_t index) {
  Bump(&paused_, 1);
  if (chunks_[index].kind != ChunkMemory::kHost) return;
  chunks_[index].parked = true;
  Bump(&parked_, 1);
}

void ChunkTable::EndPause(uint32_t index) {
  Subtract(&paused_, 1);
  if (!chunks_[index].parked) return;
  chunks_[index].parked = false;
  chunks_[index].replaced = false;
  Subtract(&parked_, 1);
}

// --- Mappings ------------------------------------------------------------------------------------

DriverResult ChunkTable::MapHandle(uint64_t address, uint32_t chunk) {
  const uint64_t handle = chunks_[chunk].handle;
  const DriverResult result = driver_->map(driver_->self, address, chunk_bytes(), handle);
  events_->Mapping(EventKind::kMap, address, chunk_bytes(), handle, result);
  return result;
}

DriverResult ChunkTable::UnmapHandle(uint64_t address, uint32_t chunk) {
  WaitForCopies(address, chunk_bytes());
  const uint64_t sequence = events_->Mapping(EventKind::kUnmap, address, chunk_bytes(),
                                             chunks_[chunk].handle, kDriverSuccess);
  const DriverResult result = driver_->unmap(driver_->self, address, chunk_bytes());
  if (result != kDriverSuccess) events_->Refused(sequence, result);
  return result;
}

DriverResult ChunkTable::UnmapHandles(uint64_t address, const uint32_t* chunks, uint32_t count) {
  if (!unmaps_runs_) return kDriverNotSupported;
  const uint64_t size = chunk_bytes();
  const DriverResult result = driver_->unmap(driver_->self, address, count * size);
  unmaps_runs_ = result == kDriverSuccess;
  for (uint32_t i = 0; i < count && result == kDriverSuccess; ++i) {
    events_->Mapping(EventKind::kUnmap, address + i * size, size, chunks_[chunks[i]].handle,
                     result);
  }
  return result;
}

DriverResult ChunkTable::SetAccess(uint64_t address, uint64_t bytes, bool host) const {
  const auto set =
      host && driver_->set_host_access != nullptr ? driver_->set_host_access : driver_->set_access;
  return set(driver_->self, address, bytes);
}

DriverResult ChunkTable::GiveAccess(uint64_t address, uint64_t bytes, bool host) {
  const DriverResult result = SetAccess(address, bytes, host);
  events_->Mapping(EventKind::kAccess, address, bytes, 0, result);
  return result;
}

DriverResult ChunkTable::MapAt(uint32_t index, uint32_t number) {
  Chunk& chunk = chunks_[index];
  Page& page = (*space_)[number];
  const uint64_t address = space_->AddressOf(number);
  const uint64_t size = chunk_bytes();
  DriverResult result = driver_->map(driver_->self, address, size, chunk.handle);
  if (result != kDriverSuccess && chunk.mappings != 0 && DropShadows(index, 0) == kDriverSuccess &&
      chunk.mappings == 0) {
    // The driver may be one that maps a handle only once. From then on a chunk leaves no mapping
    // (shadow) at its old page.
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

// Removes the mapping of a page that no unfinished work uses.
DriverResult ChunkTable::UnmapAt(uint32_t number) {
  const Page& page = (*space_)[number];
  const DriverResult result = UnmapHandle(space_->AddressOf(number), page.mapped);
  if (result == kDriverSuccess) ForgetMapping(number);
  return result;
}

DriverResult ChunkTable::UnmapRunAt(uint32_t number, uint32_t count) {
  if (!unmaps_runs_) return kDriverNotSupported;
  const uint64_t size = chunk_bytes();
  const uint64_t address = space_->AddressOf(number);
  WaitForCopies(address, count * size);
  const DriverResult result = driver_->unmap(driver_->self, address, count * size);
  unmaps_runs_ = result == kDriverSuccess;
  for (uint32_t i = 0; i < count && result == kDriverSuccess; ++i) {
    const uint32_t mapped = (*space_)[number + i].mapped;
    events_->Mapping(EventKind::kUnmap, address + i * size, size, chunks_[mapped].handle, result);
    ForgetMapping(number + i);
  }
  return result;
}

// Records that the page is not mapped any more.
void ChunkTable::ForgetMapping(uint32_t number) {
  Page& page = (*space_)[number];
  Chunk& chunk = chunks_[page.mapped];
  uint32_t* link = &chunk.pages;
  while (*link != number) link = &(*space_)[*link].next;
  *link = page.next;
  if (chunk.last == number) chunk.last = 0;
  if (chunk.home == number) chunk.home = 0;
  --chunk.mappings;
  --mappings_;
  page.mapped = 0;
  page.fresh = false;
}

// Unmaps shadows of a chunk (mappings at pages where it is not in use) that no unfinished work
// uses, until the chunk has at most `most` mappings.
DriverResult ChunkTable::DropShadows(uint32_t index, uint32_t most) {
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

}  // namespace vramstow
