// Chunks of host memory, and how they take the place of the device's: for allocator/offload.
#include "allocator/chunk_store.h"
#include "allocator/counter.h"

namespace vramstow {

uint32_t ChunkStore::TakeOut(bool host) {
  const uint32_t index = host ? idle_host_head_ : idle_head_;
  if (index != 0) TakeIdle(index);
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
  chunks_[index].host = true;
  Bump(&host_bytes_, chunk_bytes());
  PutIdle(index);
  return kDriverSuccess;
}

uint64_t ChunkStore::ReleaseHost(uint64_t count) {
  uint64_t released = 0;
  uint32_t following = 0;
  for (uint32_t index = idle_host_head_; released < count && index != 0; index = following) {
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
  const Page& page = (*space_)[number];
  DriverResult result = kDriverSuccess;
  if (page.chunk == 0) return result;  // it was given up meanwhile
  if (page.mapped == 0) result = MapAt(page.chunk, number);
  return result == kDriverSuccess ? GiveAccess(address, chunk_bytes()) : result;
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
  chunks_[chunk].place = number;
  chunks_[chunk].last = 0;
  chunks_[chunk].home = 0;
  chunks_[old].last = 0;
  PutIdle(old);
  return result;
}

}  // namespace vramstow
