// Chunks of host memory, and how they take the place of the device's: for allocator/offload.
#include "allocator/core/counter.h"
#include "allocator/physical/chunk_store.h"

namespace vramstow {

uint32_t ChunkStore::TakeOut(ChunkMemory kind) { return TakeOut(IdleHead(kind)); }

uint32_t ChunkStore::TakeOutUntouched() { return TakeOut(FindIdle(Fences::kEverything)); }

uint32_t ChunkStore::TakeOut(uint32_t index) {
  if (index == 0) return 0;
  TakeIdle(index);
  chunks_[index].taken = true;
  return index;
}

DriverResult ChunkStore::MakeHost() {
  if (!chunks_.EnsureSpare(1)) return kDriverOutOfMemory;
  committed_.store(chunks_.committed_bytes(), std::memory_order_relaxed);
  uint64_t handle = 0;
  const DriverResult result = driver_->create_host(driver_->self, chunk_bytes(), &handle);
  events_->Physical(EventKind::kAllocate, handle, chunk_bytes(), result, true);
  if (result != kDriverSuccess) return result;
  const uint32_t index = chunks_.New();
  chunks_[index].handle = handle;
  chunks_[index].kind = ChunkMemory::kHost;
  Bump(&host_bytes_, chunk_bytes());
  PutIdle(index);
  return kDriverSuccess;
}

bool ChunkStore::AddPinned(uint64_t memory) {
  if (!chunks_.EnsureSpare(1)) return false;
  committed_.store(chunks_.committed_bytes(), std::memory_order_relaxed);
  const uint32_t index = chunks_.New();
  chunks_[index].handle = memory;
  chunks_[index].kind = ChunkMemory::kPinned;
  Bump(&host_bytes_, chunk_bytes());
  PutIdle(index);
  return true;
}

uint64_t ChunkStore::ReleaseHost(uint64_t count) {
  uint64_t released = 0;
  uint32_t following = 0;
  for (uint32_t index = IdleHead(ChunkMemory::kHost); released < count && index != 0;
       index = following) {
    following = chunks_[index].next;
    if (DropShadows(index, 0) != kDriverSuccess) break;
    if (chunks_[index].mappings != 0) continue;
    const uint64_t handle = chunks_[index].handle;
    const uint64_t told =
        events_->Physical(EventKind::kFree, handle, chunk_bytes(), kDriverSuccess, true);
    const DriverResult result = driver_->release(driver_->self, handle);
    if (result != kDriverSuccess) {
      events_->Refused(told, result);
      break;
    }
    TakeIdle(index);
    chunks_.Delete(index);
    Bump(&host_bytes_, ~chunk_bytes() + 1);
    ++released;
  }
  return released;
}

void ChunkStore::NoteStuck(uint32_t chunk, bool stuck) {
  const uint64_t one = stuck ? 1 : ~uint64_t{0};
  if (IsHost(chunk)) {
    Bump(&stuck_host_, one);
  } else {
    stuck_device_ += one;
  }
}

DriverResult ChunkStore::Restore(uint64_t address) {
  const uint32_t number = space_->NumberOf(address);
  Page& page = (*space_)[number];
  DriverResult result = kDriverSuccess;
  // It was given up meanwhile, or nothing can be mapped there.
  if (page.chunk == 0 || IsPaused(page.chunk)) return result;
  if (page.mapped == 0) {
    result = MapAt(page.chunk, number);
    if (result != kDriverSuccess) return result;
    page.fresh = true;
  }
  result = GiveAccess(address, chunk_bytes());
  if (result == kDriverSuccess) page.fresh = false;
  return result;
}

// A chunk that was taken out is in use at a page now, and the one before goes to the store; no work
// touches either.
void ChunkStore::Replace(uint32_t old, uint32_t chunk, uint32_t number) {
  chunks_[chunk].taken = false;
  chunks_[chunk].place = number;
  chunks_[chunk].last = 0;
  chunks_[chunk].home = 0;
  chunks_[old].last = 0;
  PutIdle(old);
}

DriverResult ChunkStore::Exchange(uint64_t address, uint32_t chunk, bool* used) {
  *used = false;
  const uint32_t number = space_->NumberOf(address);
  Page& page = (*space_)[number];
  const uint32_t old = page.chunk;
  DriverResult result = UnmapAt(number);
  if (result != kDriverSuccess) return result;
  DropShadows(chunk, kMostMappings - 1);
  page.chunk = chunk;
  result = Restore(address);
  if (result != kDriverSuccess && (page.mapped == 0 || UnmapAt(number) == kDriverSuccess)) {
    // The old chunk has the data, too, and goes back.
    page.chunk = old;
    return result;
  }
  *used = true;
  Replace(old, chunk, number);
  return result;
}

DriverResult ChunkStore::Pause(uint64_t address, uint32_t pinned) {
  if (pinned == 0 && !chunks_.EnsureSpare(1)) return kDriverOutOfMemory;
  const uint32_t number = space_->NumberOf(address);
  Page& page = (*space_)[number];
  const uint32_t old = page.chunk;
  const DriverResult result = page.mapped != 0 ? UnmapAt(number) : kDriverSuccess;
  if (result != kDriverSuccess) return result;
  uint32_t chunk = pinned;
  if (chunk == 0) {
    chunk = chunks_.New();
    chunks_[chunk].kind = ChunkMemory::kNothing;
    ++discarded_;
  }
  page.chunk = chunk;
  Bump(&paused_, 1);
  Replace(old, chunk, number);
  return kDriverSuccess;
}

DriverResult ChunkStore::Underlay(uint64_t address, uint32_t chunk) {
  const uint32_t number = space_->NumberOf(address);
  // What an earlier one could not take away.
  const DriverResult result = (*space_)[number].mapped != 0 ? UnmapAt(number) : kDriverSuccess;
  if (result != kDriverSuccess) return result;
  DropShadows(chunk, kMostMappings - 1);
  return MapAt(chunk, number);
}

void ChunkStore::EndUnderlay(uint64_t address) {
  const uint32_t number = space_->NumberOf(address);
  if ((*space_)[number].mapped != 0) UnmapAt(number);
}

void ChunkStore::EndPause(uint64_t address) {
  const uint32_t number = space_->NumberOf(address);
  Page& page = (*space_)[number];
  const uint32_t kept = page.chunk;
  page.chunk = page.mapped;
  Bump(&paused_, ~uint64_t{0});
  Replace(kept, page.chunk, number);
}

}  // namespace vramstow
