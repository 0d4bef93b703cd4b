#include "allocator/chunk_store.h"

namespace vramstow {

bool ChunkStore::Open(const DriverTable* driver, const PoolEvents* events, AddressSpace* space,
                      uint64_t limit_bytes) {
  driver_ = driver;
  events_ = events;
  space_ = space;
  set_limit_bytes(limit_bytes);
  return chunks_.Open(kMaxChunks);
}

uint64_t ChunkStore::ChunksUnderLimit() const {
  const uint64_t limit = limit_bytes();
  if (limit == 0) return ~uint64_t{0};
  const uint64_t reserved = reserved_bytes();
  return reserved >= limit ? 0 : (limit - reserved) / chunk_bytes();
}

void ChunkStore::PutIdle(uint32_t chunk) {
  chunks_[chunk].address = 0;
  chunks_[chunk].next = idle_head_;
  idle_head_ = chunk;
  ++idle_chunks_;
}

DriverResult ChunkStore::Make(uint64_t count, uint64_t* made) {
  *made = 0;
  for (; *made < count; ++*made) {
    if (!chunks_.EnsureSpare(1)) return kDriverOutOfMemory;
    committed_.store(chunks_.committed_bytes(), std::memory_order_relaxed);
    uint64_t handle = 0;
    const DriverResult result = driver_->create(driver_->self, chunk_bytes(), &handle);
    events_->Physical(EventKind::kAllocate, handle, chunk_bytes(), result);
    if (result != kDriverSuccess) return result;
    const uint32_t chunk = chunks_.New();
    chunks_[chunk].handle = handle;
    PutIdle(chunk);
    const uint64_t reserved = reserved_bytes() + chunk_bytes();
    reserved_.store(reserved, std::memory_order_relaxed);
    if (reserved > peak_reserved_bytes()) {
      peak_reserved_.store(reserved, std::memory_order_relaxed);
    }
  }
  return kDriverSuccess;
}

DriverResult ChunkStore::Release(uint64_t count, uint64_t* released) {
  *released = 0;
  for (; *released < count && idle_head_ != 0; ++*released) {
    const uint32_t chunk = idle_head_;
    const uint64_t handle = chunks_[chunk].handle;
    const uint64_t told =
        events_->Physical(EventKind::kFree, handle, chunk_bytes(), kDriverSuccess);
    const DriverResult result = driver_->release(driver_->self, handle);
    if (result != kDriverSuccess) {
      events_->Refused(told, result);
      return result;
    }
    idle_head_ = chunks_[chunk].next;
    --idle_chunks_;
    chunks_.Delete(chunk);
    reserved_.store(reserved_bytes() - chunk_bytes(), std::memory_order_relaxed);
  }
  return kDriverSuccess;
}

DriverResult ChunkStore::Map(uint64_t address, uint64_t count) {
  if (count > idle_chunks_) return kDriverOutOfMemory;
  const uint64_t size = chunk_bytes();
  DriverResult result = kDriverSuccess;
  uint64_t mapped = 0;
  for (; mapped < count; ++mapped) {
    const uint32_t chunk = idle_head_;
    const uint64_t at = address + mapped * size;
    if (space_->PageAt(at) != 0) continue;  // stuck here since an earlier failure: welcome
    result = driver_->map(driver_->self, at, size, chunks_[chunk].handle);
    events_->Mapping(EventKind::kMap, at, size, chunks_[chunk].handle, result);
    if (result != kDriverSuccess) break;
    idle_head_ = chunks_[chunk].next;
    --idle_chunks_;
    chunks_[chunk].address = at;
    space_->PageAt(at) = chunk;
  }
  if (result == kDriverSuccess) {
    result = driver_->set_access(driver_->self, address, count * size);
    events_->Mapping(EventKind::kAccess, address, count * size, 0, result);
  }
  if (result == kDriverSuccess) return result;
  while (mapped > 0) {
    --mapped;
    const uint64_t at = address + mapped * size;
    // A chunk that cannot even be unmapped is stuck: it stays in its page until that is used again.
    UnmapChunk(at, space_->PageAt(at));
  }
  return result;
}

DriverResult ChunkStore::UnmapChunk(uint64_t address, uint32_t chunk) {
  const uint64_t handle = chunks_[chunk].handle;
  const uint64_t told =
      events_->Mapping(EventKind::kUnmap, address, chunk_bytes(), handle, kDriverSuccess);
  const DriverResult result = driver_->unmap(driver_->self, address, chunk_bytes());
  if (result != kDriverSuccess) {
    events_->Refused(told, result);
    return result;
  }
  space_->PageAt(address) = 0;
  PutIdle(chunk);
  return kDriverSuccess;
}

DriverResult ChunkStore::Unmap(uint64_t address) {
  return UnmapChunk(address, space_->PageAt(address));
}

void ChunkStore::Close(bool alive) {
  uint64_t released = 0;
  if (alive) Release(idle_chunks_, &released);
  chunks_.Close();
  idle_head_ = 0;
  idle_chunks_ = 0;
  reserved_.store(0, std::memory_order_relaxed);
}

}  // namespace vramstow
