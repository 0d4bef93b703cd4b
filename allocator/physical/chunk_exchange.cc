#include "allocator/physical/chunk_exchange.h"

#include "allocator/core/counter.h"

namespace vramstow {

void ChunkExchange::Open(const DriverTable* driver, const PoolEvents* events, AddressSpace* space,
                         ChunkTable* table) {
  driver_ = driver;
  events_ = events;
  space_ = space;
  table_ = table;
  places_.Open(driver, events, table->chunk_bytes());
  maps_own_ = true;
}

void ChunkExchange::Close(bool alive) {
  if (alive) ReleaseHost(~uint64_t{0});
  places_.Close(alive);
  stuck_device_ = 0;
  host_chunks_ = 0;
  stuck_host_.store(0, std::memory_order_relaxed);
  taken_device_ = 0;
  taken_host_.store(0, std::memory_order_relaxed);
  host_bytes_.store(0, std::memory_order_relaxed);
}

uint32_t ChunkExchange::DetachChunk(ChunkMemory kind) {
  return DetachChunk(table_->IdleHead(kind));
}

uint32_t ChunkExchange::DetachUntouched() {
  return DetachChunk(table_->FindIdle(Fences::kEverything));
}

uint32_t ChunkExchange::DetachChunk(uint32_t index) {
  if (index == 0) return 0;
  table_->RemoveIdle(index);
  NoteTaken(index, true);
  return index;
}

void ChunkExchange::NoteTaken(uint32_t chunk, bool taken) {
  if ((*table_)[chunk].taken == taken) return;
  (*table_)[chunk].taken = taken;
  CountTaken(chunk, taken);
}

void ChunkExchange::CountTaken(uint32_t chunk, bool taken) {
  const uint64_t one = taken ? 1 : ~uint64_t{0};
  if (table_->IsHost(chunk) || (*table_)[chunk].kind == ChunkMemory::kPinned) {
    Bump(&taken_host_, one);
  } else {
    taken_device_ += one;
  }
}

DriverResult ChunkExchange::MakeHost(OwnAddressIs own) {
  if (!table_->EnsureSpare()) return kDriverOutOfMemory;
  uint64_t handle = 0;
  const DriverResult result = driver_->create_host(driver_->self, chunk_bytes(), &handle);
  events_->Physical(EventKind::kAllocate, handle, chunk_bytes(), result, true);
  if (result != kDriverSuccess) return result;
  Bump(&host_bytes_, chunk_bytes());
  table_->Add(handle, ChunkMemory::kHost);
  if (own == OwnAddressIs::kMapped) MapOwn(table_->IdleHead(ChunkMemory::kHost));
  ++host_chunks_;
  return kDriverSuccess;
}

// Maps the chunk at an address of its own. A chunk without such an address is mapped anew for each
// copy.
void ChunkExchange::MapOwn(uint32_t chunk) {
  const uint64_t address = maps_own_ ? places_.Take() : 0;
  if (address == 0) return;
  if (table_->MapHandle(address, chunk) != kDriverSuccess) return places_.Give(address);
  (*table_)[chunk].own = address;
  if (table_->GiveAccess(address, chunk_bytes(), /*host=*/false) == kDriverSuccess) return;
  (*table_)[chunk].own |= kNoAccess;
  UnmapOwn(chunk);
}

DriverResult ChunkExchange::UnmapOwn(uint32_t chunk) {
  const uint64_t address = (*table_)[chunk].own & ~kNoAccess;
  if (address == 0) return kDriverSuccess;
  const DriverResult result = table_->UnmapHandle(address, chunk);
  if (result != kDriverSuccess) return result;
  places_.Give(address);
  (*table_)[chunk].own = 0;
  return result;
}

bool ChunkExchange::AddPinned(uint64_t memory) {
  if (!table_->EnsureSpare()) return false;
  Bump(&host_bytes_, chunk_bytes());
  table_->Add(memory, ChunkMemory::kPinned);
  return true;
}

void ChunkExchange::RemovePinned(uint32_t index) {
  table_->Remove(index);
  Subtract(&host_bytes_, chunk_bytes());
}

uint64_t ChunkExchange::ReleaseHost(uint64_t count) {
  uint64_t released = 0;
  uint32_t following = 0;
  for (uint32_t index = table_->IdleHead(ChunkMemory::kHost); released < count && index != 0;
       index = following) {
    following = (*table_)[index].next;
    if (table_->DropShadows(index, 0) != kDriverSuccess) break;
    if ((*table_)[index].mappings != 0) continue;
    if (UnmapOwn(index) != kDriverSuccess) break;
    const uint64_t handle = (*table_)[index].handle;
    const uint64_t sequence =
        events_->Physical(EventKind::kFree, handle, chunk_bytes(), kDriverSuccess, true);
    const DriverResult result = driver_->release(driver_->self, handle);
    if (result != kDriverSuccess) {
      events_->Refused(sequence, result);
      break;
    }
    table_->Remove(index);
    Subtract(&host_bytes_, chunk_bytes());
    --host_chunks_;
    ++released;
  }
  return released;
}

void ChunkExchange::NoteStuck(uint32_t chunk, bool stuck) {
  const uint64_t one = stuck ? 1 : ~uint64_t{0};
  CountTaken(chunk, !stuck);  // it stays out of the store
  if (table_->IsHost(chunk)) {
    Bump(&stuck_host_, one);
  } else {
    stuck_device_ += one;
  }
}

DriverResult ChunkExchange::Restore(uint64_t address) {
  const uint32_t number = space_->NumberOf(address);
  Page& page = (*space_)[number];
  DriverResult result = kDriverSuccess;
  // The page was freed meanwhile, or is paused, so there is nothing to map.
  if (page.chunk == 0 || table_->IsPaused(page.chunk)) return result;
  const bool large = table_->IsLarge(page.chunk);
  // A large chunk was mapped already, when another of its pages was restored.
  if (large && page.mapped != 0 && !page.fresh) return result;
  if (page.mapped == 0) {
    result =
        large ? table_->MapLarge((*table_)[page.chunk].lead) : table_->MapAt(page.chunk, number);
    if (result != kDriverSuccess) return result;
    page.fresh = true;
  }
  return table_->GivePagesAccess(number, 1, table_->IsHost(page.chunk));
}

// Puts a detached chunk to use at a page, and moves the page's old chunk to the store. No work
// touches either chunk.
void ChunkExchange::Replace(uint32_t old, uint32_t chunk, uint32_t number) {
  NoteTaken(chunk, false);
  (*table_)[chunk].place = number;
  (*table_)[chunk].last = 0;
  (*table_)[chunk].home = 0;
  (*table_)[old].last = 0;
  table_->PutIdle(old);
}

// Returns how many of the `count` pages from page `number` on belong to whole chunks. A chunk
// begins at page `number`.
uint32_t ChunkExchange::WholeChunks(uint32_t number, uint32_t count) const {
  uint32_t whole = 0;
  while (whole < count) {
    const uint32_t pages = table_->PagesOf((*space_)[number + whole].chunk);
    if (whole + pages > count) break;
    whole += pages;
  }
  return whole;
}

DriverResult ChunkExchange::UnmapChunk(uint32_t number) {
  const Page& page = (*space_)[number];
  if (page.mapped == 0) return kDriverSuccess;
  return table_->IsLarge(page.chunk) ? table_->UnmapLarge((*table_)[page.chunk].lead)
                                     : table_->UnmapAt(number);
}

// Unmaps pages from page `number` on, up to the first chunk that cannot be unmapped; *count becomes
// the number of unmapped pages.
DriverResult ChunkExchange::UnmapRun(uint32_t number, uint32_t* count) {
  const uint32_t wanted = *count;
  bool is_one_run = wanted > 1;
  for (uint32_t i = 0; i < wanted && is_one_run; ++i) {
    const Page& page = (*space_)[number + i];
    is_one_run = page.mapped != 0 && !table_->IsLarge(page.chunk);
  }
  if (is_one_run && table_->UnmapRunAt(number, wanted) == kDriverSuccess) return kDriverSuccess;
  for (*count = 0; *count < wanted;) {
    const DriverResult result = UnmapChunk(number + *count);
    if (result != kDriverSuccess) return result;
    *count += table_->PagesOf((*space_)[number + *count].chunk);
  }
  return kDriverSuccess;
}

// Maps chunks at pages from page `number` on, without access, up to the first one that cannot be
// mapped; *count becomes the number of mapped pages.
DriverResult ChunkExchange::MapRun(uint32_t number, const uint32_t* chunks, uint32_t* count) {
  const uint32_t wanted = *count;
  for (*count = 0; *count < wanted; ++*count) {
    table_->DropShadows(chunks[*count], ChunkTable::kMaxMappings - 1);
    DriverResult result = table_->MapAt(chunks[*count], number + *count);
    if (result != kDriverSuccess && OwnAddress(chunks[*count]) != 0 &&
        UnmapOwn(chunks[*count]) == kDriverSuccess) {
      // The driver may be one that maps a handle only once; then try again without the chunk's own
      // address.
      result = table_->MapAt(chunks[*count], number + *count);
      maps_own_ = result != kDriverSuccess;
    }
    if (result != kDriverSuccess) return result;
    (*space_)[number + *count].fresh = true;
  }
  return kDriverSuccess;
}

DriverResult ChunkExchange::Exchange(uint64_t address, const uint32_t* chunks, uint32_t count,
                                     uint32_t* used) {
  *used = 0;
  const uint32_t number = space_->NumberOf(address);
  count = CountNeighbours(address, count);
  if (!BeginsChunk(address) || WholeChunks(number, count) != count) return kDriverInvalidValue;
  DriverResult result = UnmapRun(number, &count);
  uint32_t mapped = count;
  const DriverResult mapping = MapRun(number, chunks, &mapped);
  if (result == kDriverSuccess) result = mapping;
  if (mapped == 0) return result;
  const DriverResult access =
      table_->GiveAccess(address, mapped * chunk_bytes(), table_->IsHost(chunks[0]));
  if (access != kDriverSuccess) result = access;
  // If access was refused, the old chunks, which still have the data, are mapped at their pages
  // again, from the last page backwards. If a new chunk cannot be unmapped, it stays, and so do all
  // new chunks before it: the exchanged pages are always the first ones. A large chunk is exchanged
  // as a whole or not at all.
  const uint32_t stay = access == kDriverSuccess ? WholeChunks(number, mapped) : 0;
  while (mapped > stay && table_->UnmapAt(number + mapped - 1) == kDriverSuccess) --mapped;
  // If one page of a large chunk was exchanged, its other pages get their new chunks, too; Restore
  // maps the new chunks later.
  uint32_t replaced = 0;
  while (replaced < mapped) replaced += table_->PagesOf((*space_)[number + replaced].chunk);
  for (uint32_t i = 0; i < replaced; ++i) {
    Page& page = (*space_)[number + i];
    const uint32_t old = page.chunk;
    page.chunk = chunks[i];
    page.fresh = i < mapped && access != kDriverSuccess;
    Replace(old, chunks[i], number + i);
  }
  *used = replaced;
  return result;
}

DriverResult ChunkExchange::Pause(uint64_t address, const uint32_t* kept, uint32_t* count) {
  const uint32_t number = space_->NumberOf(address);
  uint32_t pages = CountNeighbours(address, *count);
  *count = 0;
  pages = BeginsChunk(address) ? WholeChunks(number, pages) : 0;
  if (pages == 0) return kDriverInvalidValue;
  if (kept[0] == 0 && !table_->EnsureSpare(pages)) return kDriverOutOfMemory;
  const DriverResult result = UnmapRun(number, &pages);
  for (; *count < pages; ++*count) {
    Page& page = (*space_)[number + *count];
    const uint32_t old = page.chunk;
    page.chunk = kept[*count] != 0 ? kept[*count] : table_->AddNothing();
    Replace(old, page.chunk, number + *count);
    table_->BeginPause(page.chunk);
  }
  return result;
}

// Returns how many of the pages have consecutive numbers. Two ranges of addresses may touch each
// other, but page numbers and access calls do not cross from one range to the next.
uint32_t ChunkExchange::CountNeighbours(uint64_t address, uint32_t count) const {
  const uint32_t number = space_->NumberOf(address);
  while (space_->NumberOf(address + (count - 1) * chunk_bytes()) != number + count - 1) --count;
  return count;
}

DriverResult ChunkExchange::ParkHost(uint64_t address, uint32_t* count) {
  *count = CountNeighbours(address, *count);
  const uint32_t number = space_->NumberOf(address);
  for (uint32_t i = 0; i < *count; ++i) {
    if (OwnAddress((*space_)[number + i].chunk) == 0) *count = i;
  }
  if (*count == 0) return kDriverNotSupported;
  const DriverResult result = UnmapRun(number, count);
  for (uint32_t i = 0; i < *count; ++i) table_->BeginPause((*space_)[number + i].chunk);
  return result;
}

// Maps the chunk of a parked page (unmapped, with its data on the host) at the page, unless an
// earlier call has mapped it there and could not unmap it.
DriverResult ChunkExchange::MapKept(uint32_t number) {
  const Page& page = (*space_)[number];
  if (page.mapped == page.chunk) return kDriverSuccess;
  const DriverResult result = page.mapped != 0 ? table_->UnmapAt(number) : kDriverSuccess;
  return result == kDriverSuccess ? table_->MapAt(page.chunk, number) : result;
}

DriverResult ChunkExchange::MapParked(uint64_t address, uint32_t* count) {
  *count = CountNeighbours(address, *count);
  const uint32_t number = space_->NumberOf(address);
  DriverResult result = kDriverSuccess;
  uint32_t mapped = 0;
  while (mapped < *count && result == kDriverSuccess) {
    result = MapKept(number + mapped);
    if (result == kDriverSuccess) ++mapped;
  }
  const DriverResult access =
      mapped == 0 ? result : table_->GiveAccess(address, mapped * chunk_bytes(), /*host=*/true);
  *count = access == kDriverSuccess ? mapped : 0;
  for (uint32_t i = *count; i < mapped; ++i) table_->UnmapAt(number + i);
  for (uint32_t i = 0; i < *count; ++i) table_->EndPause((*space_)[number + i].chunk);
  return result == kDriverSuccess ? access : result;
}

DriverResult ChunkExchange::Underlay(uint64_t address, uint32_t chunk) {
  const uint32_t number = space_->NumberOf(address);
  // Removes the mapping that an earlier EndUnderlay could not remove.
  const DriverResult result =
      (*space_)[number].mapped != 0 ? table_->UnmapAt(number) : kDriverSuccess;
  if (result != kDriverSuccess) return result;
  table_->DropShadows(chunk, ChunkTable::kMaxMappings - 1);
  const DriverResult mapped = table_->MapAt(chunk, number);
  ChunkTable::Chunk& kept = (*table_)[(*space_)[number].chunk];
  kept.replaced = kept.parked && mapped == kDriverSuccess;
  return mapped;
}

void ChunkExchange::EndUnderlay(uint64_t address) {
  const uint32_t number = space_->NumberOf(address);
  (*table_)[(*space_)[number].chunk].replaced = false;
  if ((*space_)[number].mapped != 0) table_->UnmapAt(number);
}

void ChunkExchange::EndPause(uint64_t address) {
  const uint32_t number = space_->NumberOf(address);
  Page& page = (*space_)[number];
  const uint32_t kept = page.chunk;
  page.chunk = page.mapped;
  table_->EndPause(kept);
  Replace(kept, page.chunk, number);
}

}  // namespace vramstow
