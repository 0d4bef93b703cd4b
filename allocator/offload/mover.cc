#include "allocator/offload/mover.h"

namespace vramstow {

void Mover::Open(const DriverTable* driver, const PoolEvents* events, ChunkExchange* chunks) {
  driver_ = driver;
  events_ = events;
  chunks_ = chunks;
}

void Mover::Close(bool alive) {
  if (alive && window_ != 0) {
    FreeWindow();
    const uint64_t size = kMostPages * chunks_->chunk_bytes();
    events_->Address(EventKind::kUnreserve, window_, size);
    driver_->unreserve(driver_->self, window_, size);
  }
  window_ = 0;
  lost_count_ = 0;
}

// Tries to unmap what is stuck in the window once more. True: nothing is.
bool Mover::FreeWindow() {
  for (uint32_t i = 0; i < kMostPages; ++i) {
    if (stuck_[i] == 0) continue;
    if (chunks_->UnmapHandle(PlaceOf(i), stuck_[i]) != kDriverSuccess) return false;
    Release(i);
  }
  return true;
}

// The chunk at a place of the window cannot be unmapped; it is no chunk of the caller's any more.
void Mover::Keep(uint32_t place, uint32_t* chunk) {
  stuck_[place] = *chunk;
  chunks_->NoteStuck(*chunk, true);
  *chunk = 0;
}

void Mover::Release(uint32_t place) {
  chunks_->NoteStuck(stuck_[place], false);
  chunks_->PutBack(stuck_[place]);
  stuck_[place] = 0;
}

DriverResult Mover::OpenWindow() {
  if (window_ != 0) return kDriverSuccess;
  const uint64_t size = kMostPages * chunks_->chunk_bytes();
  uint64_t address = 0;
  const DriverResult result =
      driver_->reserve(driver_->self, size, chunks_->chunk_bytes(), &address);
  if (result != kDriverSuccess) return result;
  window_ = address;
  events_->Address(EventKind::kReserve, address, size);
  return kDriverSuccess;
}

DriverResult Mover::Copy(const DriverCopy* copies, uint32_t count) {
  uint64_t job = 0;
  const DriverResult result = driver_->copy_start(driver_->self, copies, count, &job);
  return result == kDriverSuccess ? driver_->copy_finish(driver_->self, job) : result;
}

// A chunk that cannot be unmapped is kept where it is, and no chunk of the caller's any more.
DriverResult Mover::EmptyWindow(uint32_t* fresh, uint32_t count) {
  DriverResult result = kDriverSuccess;
  for (uint32_t i = 0; i < count; ++i) {
    if (!placed_[i]) continue;
    placed_[i] = false;
    const DriverResult removed = chunks_->UnmapHandle(PlaceOf(i), fresh[i]);
    if (removed == kDriverSuccess) continue;
    Keep(i, &fresh[i]);
    result = removed;
  }
  return result;
}

// Maps fresh chunks of one kind in the window, one after the other. EmptyWindow takes away what is
// mapped, whatever the result.
DriverResult Mover::MapWindow(const uint32_t* fresh, uint32_t count) {
  DriverResult result = OpenWindow();
  for (uint32_t i = 0; i < count && result == kDriverSuccess; ++i) {
    result = chunks_->MapHandle(PlaceOf(i), fresh[i]);
    placed_[i] = result == kDriverSuccess;
  }
  if (result != kDriverSuccess) return result;
  return chunks_->GiveAccess(window_, count * chunks_->chunk_bytes(), chunks_->IsHost(fresh[0]));
}

// Brings what the pages hold into the fresh chunks, which are mapped nowhere before and after.
DriverResult Mover::Fill(const uint64_t* pages, uint32_t* fresh, uint32_t count) {
  DriverResult result = MapWindow(fresh, count);
  DriverCopy copies[kMostPages];
  for (uint32_t i = 0; i < count; ++i) copies[i] = {PlaceOf(i), pages[i], chunks_->chunk_bytes()};
  if (result == kDriverSuccess) result = Copy(copies, count);
  const DriverResult emptied = EmptyWindow(fresh, count);
  return result == kDriverSuccess ? emptied : result;
}

DriverResult Mover::Try() {
  uint32_t fresh = chunks_->TakeOut(ChunkMemory::kHost);
  if (fresh == 0) return kDriverOutOfMemory;
  DriverResult result = MapWindow(&fresh, 1);
  const uint64_t half = chunks_->chunk_bytes() / 2;
  const DriverCopy copy = {PlaceOf(0) + half, PlaceOf(0), half};
  if (result == kDriverSuccess) result = Copy(&copy, 1);
  const DriverResult emptied = EmptyWindow(&fresh, 1);
  PutBack(&fresh, 0, 1);
  return result == kDriverSuccess ? emptied : result;
}

// As many chunks of this kind as there are.
uint32_t Mover::TakeChunks(ChunkMemory kind, uint32_t* fresh, uint32_t count) {
  uint32_t taken = 0;
  for (; taken < count; ++taken) {
    fresh[taken] = chunks_->TakeOut(kind);
    if (fresh[taken] == 0) break;
  }
  return taken;
}

void Mover::PutBack(const uint32_t* fresh, uint32_t from, uint32_t count) {
  for (uint32_t i = from; i < count; ++i) {
    if (fresh[i] != 0) chunks_->PutBack(fresh[i]);
  }
}

uint32_t Mover::Pause(uint64_t* pages, uint32_t count, bool keep, DriverResult* result) {
  *result = kDriverInvalidValue;
  if (!Restore()) return 0;
  if (count > kMostPages) count = kMostPages;
  uint32_t pinned[kMostPages] = {};
  const uint32_t taken = keep ? TakeChunks(ChunkMemory::kPinned, pinned, count) : count;
  *result = taken == 0 ? kDriverOutOfMemory : kDriverSuccess;
  if (keep && taken != 0) {
    DriverCopy copies[kMostPages];
    for (uint32_t i = 0; i < taken; ++i) {
      copies[i] = {chunks_->PinnedMemory(pinned[i]), pages[i], chunks_->chunk_bytes()};
    }
    *result = Copy(copies, taken);
  }
  uint32_t paused = 0;
  while (paused < taken && *result == kDriverSuccess) {
    uint32_t done = RunOf(pages + paused, taken - paused, chunks_->chunk_bytes());
    *result = chunks_->Pause(pages[paused], pinned + paused, &done);
    paused += done;
  }
  PutBack(pinned, paused, taken);
  return paused;
}

uint32_t Mover::Move(uint64_t* pages, uint32_t count, ChunkMemory to, DriverResult* result) {
  *result = kDriverInvalidValue;
  if (!Restore() || !FreeWindow()) return 0;
  if (count > kMostPages) count = kMostPages;
  uint32_t fresh[kMostPages];
  const uint32_t taken = TakeChunks(to, fresh, count);
  *result = taken == 0 ? kDriverOutOfMemory : Fill(pages, fresh, taken);
  uint32_t moved = 0;
  while (moved < taken && *result == kDriverSuccess) {
    const uint32_t run = RunOf(pages + moved, taken - moved, chunks_->chunk_bytes());
    uint32_t used = 0;
    *result = chunks_->Exchange(pages[moved], fresh + moved, run, &used);
    for (uint32_t i = 0; i < run && *result != kDriverSuccess; ++i) {
      lost_[lost_count_++] = pages[moved + i];
    }
    for (uint32_t i = 0; i < used; ++i) fresh[moved++] = 0;
  }
  PutBack(fresh, moved, taken);
  Restore();
  return moved;
}

// The pages stay paused, and their chunks go back to the store.
void Mover::Drop(Return* coming) {
  for (uint32_t i = 0; i < coming->count; ++i) {
    chunks_->EndUnderlay(coming->pages[i]);
    chunks_->PutBack(coming->fresh[i]);
  }
  coming->count = 0;
}

// One call for each run of neighbours: the driver takes its time for each.
DriverResult Mover::GiveAccess(const Return& coming) {
  const uint64_t size = chunks_->chunk_bytes();
  for (uint32_t i = 0; i < coming.count;) {
    const uint32_t run = RunOf(coming.pages + i, coming.count - i, size);
    const DriverResult result = chunks_->GiveAccess(coming.pages[i], run * size, /*host=*/false);
    if (result != kDriverSuccess) return result;
    i += run;
  }
  return kDriverSuccess;
}

DriverResult Mover::Lay(Return* coming) {
  const uint32_t wanted = coming->count;
  DriverResult result = kDriverSuccess;
  for (coming->count = 0; coming->count < wanted; ++coming->count) {
    const uint32_t chunk = chunks_->TakeOutUntouched();
    result =
        chunk == 0 ? kDriverOutOfMemory : chunks_->Underlay(coming->pages[coming->count], chunk);
    coming->fresh[coming->count] = chunk;
    if (result == kDriverSuccess) continue;
    if (chunk != 0) chunks_->PutBack(chunk);
    break;
  }
  const DriverResult access = GiveAccess(*coming);
  if (access != kDriverSuccess) Drop(coming);
  return access == kDriverSuccess ? result : access;
}

DriverResult Mover::Begin(Return* coming) {
  DriverCopy copies[kMostPages];
  uint32_t kept = 0;
  for (uint32_t i = 0; i < coming->count; ++i) {
    const uint64_t source = chunks_->KeptAt(coming->pages[i]);
    if (source != 0) copies[kept++] = {coming->pages[i], source, chunks_->chunk_bytes()};
  }
  coming->copies = kept != 0;
  if (kept == 0) return kDriverSuccess;
  const DriverResult result = driver_->copy_start(driver_->self, copies, kept, &coming->job);
  if (result == kDriverSuccess) return result;
  coming->copies = false;
  Drop(coming);
  return result;
}

uint32_t Mover::End(Return* coming, DriverResult* result) {
  *result = coming->copies ? driver_->copy_finish(driver_->self, coming->job) : kDriverSuccess;
  coming->copies = false;
  if (*result != kDriverSuccess) Drop(coming);
  const uint32_t count = coming->count;
  for (uint32_t i = 0; i < count; ++i) chunks_->EndPause(coming->pages[i]);
  coming->count = 0;
  return count;
}

bool Mover::Restore() {
  uint32_t left = 0;
  for (uint32_t i = 0; i < lost_count_; ++i) {
    if (chunks_->Restore(lost_[i]) != kDriverSuccess) lost_[left++] = lost_[i];
  }
  lost_count_ = left;
  return left == 0;
}

}  // namespace vramstow
