#include "allocator/offload/mover.h"

namespace vramstow {

void Mover::Open(const DriverTable* driver, const PoolEvents* events, ChunkExchange* chunks) {
  driver_ = driver;
  chunks_ = chunks;
  window_.Open(driver, events, chunks);
}

void Mover::Close(bool alive) {
  window_.Close(alive);
  lost_count_ = 0;
}

DriverResult Mover::Copy(const DriverCopy* copies, uint32_t count) {
  uint64_t job = 0;
  const DriverResult result = driver_->copy_start(driver_->self, copies, count, &job);
  return result == kDriverSuccess ? driver_->copy_finish(driver_->self, job) : result;
}

// Copies the contents of the pages into the fresh chunks. The fresh chunks are mapped nowhere
// before and after this call.
DriverResult Mover::Fill(const uint64_t* pages, uint32_t* fresh, uint32_t count) {
  DriverResult result = window_.Map(fresh, count);
  DriverCopy copies[kMaxPages];
  for (uint32_t i = 0; i < count; ++i)
    copies[i] = {window_.AddressOf(i, fresh[i]), pages[i], chunks_->chunk_bytes()};
  if (result == kDriverSuccess) result = Copy(copies, count);
  const DriverResult emptied = window_.Empty(fresh, count);
  return result == kDriverSuccess ? emptied : result;
}

DriverResult Mover::Try() {
  uint32_t fresh = chunks_->DetachChunk(ChunkMemory::kHost);
  if (fresh == 0) return kDriverOutOfMemory;
  DriverResult result = window_.Map(&fresh, 1);
  const uint64_t half = chunks_->chunk_bytes() / 2;
  const DriverCopy copy = {window_.AddressOf(0, fresh) + half, window_.AddressOf(0, fresh), half};
  if (result == kDriverSuccess) result = Copy(&copy, 1);
  const DriverResult emptied = window_.Empty(&fresh, 1);
  PutBack(&fresh, 0, 1);
  return result == kDriverSuccess ? emptied : result;
}

// Takes up to `count` chunks of this kind out of the store.
uint32_t Mover::DetachChunks(ChunkMemory kind, uint32_t* fresh, uint32_t count) {
  uint32_t taken = 0;
  for (; taken < count; ++taken) {
    fresh[taken] = chunks_->DetachChunk(kind);
    if (fresh[taken] == 0) break;
  }
  return taken;
}

void Mover::PutBack(const uint32_t* fresh, uint32_t from, uint32_t count) {
  for (uint32_t i = from; i < count; ++i) {
    if (fresh[i] != 0) chunks_->PutBack(fresh[i]);
  }
}

uint32_t Mover::Pause(const uint64_t* pages, const uint32_t* kept, uint32_t count,
                      DriverResult* result) {
  uint32_t paused = 0;
  while (paused < count && *result == kDriverSuccess) {
    uint32_t done = RunOf(pages + paused, count - paused, chunks_->chunk_bytes());
    *result = chunks_->Pause(pages[paused], kept + paused, &done);
    paused += done;
  }
  return paused;
}

// Replaces the pages' chunks by fresh chunks that contain the pages' data. Returns how many pages
// were exchanged. The chunks for these pages come first in `fresh`, and their elements are 0
// afterwards.
uint32_t Mover::Exchange(const uint64_t* pages, uint32_t* fresh, uint32_t count,
                         DriverResult* result) {
  uint32_t moved = 0;
  while (moved < count && *result == kDriverSuccess) {
    const uint32_t run = RunOf(pages + moved, count - moved, chunks_->chunk_bytes());
    uint32_t used = 0;
    *result = chunks_->Exchange(pages[moved], fresh + moved, run, &used);
    for (uint32_t i = 0; i < run && *result != kDriverSuccess; ++i) {
      lost_[lost_count_++] = pages[moved + i];
    }
    for (uint32_t i = 0; i < used; ++i) fresh[moved++] = 0;
  }
  Restore();
  return moved;
}

uint32_t Mover::Move(uint64_t* pages, uint32_t count, ChunkMemory to, DriverResult* result) {
  *result = kDriverInvalidValue;
  if (!Restore() || !window_.Free()) return 0;
  if (count > kMaxPages) count = kMaxPages;
  uint32_t fresh[kMaxPages];
  const uint32_t taken = DetachChunks(to, fresh, count);
  *result = taken == 0 ? kDriverOutOfMemory : Fill(pages, fresh, taken);
  const uint32_t moved = Exchange(pages, fresh, taken, result);
  PutBack(fresh, moved, taken);
  return moved;
}

// Returns the fresh chunks to the store; the pages stay paused (without memory).
void Mover::Drop(Return* coming) {
  for (uint32_t i = 0; i < coming->count; ++i) {
    chunks_->EndUnderlay(coming->pages[i]);
    chunks_->PutBack(coming->fresh[i]);
  }
  coming->count = 0;
}

// Gives access with one call for each run of neighbours, because each driver call takes time.
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
    const uint32_t chunk = coming->is_after_work ? chunks_->DetachChunk(ChunkMemory::kDevice)
                                                 : chunks_->DetachUntouched();
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
  DriverCopy copies[kMaxPages];
  uint32_t kept = 0;
  for (uint32_t i = 0; i < coming->count; ++i) {
    const uint64_t source = chunks_->KeptAt(coming->pages[i]);
    if (source != 0) copies[kept++] = {coming->pages[i], source, chunks_->chunk_bytes()};
  }
  coming->copies = kept != 0;
  if (kept == 0) return kDriverSuccess;
  const auto start = coming->is_after_work ? driver_->copy_start_after : driver_->copy_start;
  const DriverResult result = start(driver_->self, copies, kept, &coming->job);
  if (result == kDriverSuccess) return result;
  coming->copies = false;
  Drop(coming);
  return result;
}

bool Mover::Order(Return* coming) {
  coming->is_ordered = coming->copies && driver_->copy_order != nullptr &&
                       driver_->copy_order(driver_->self, coming->job) == kDriverSuccess;
  return coming->is_ordered;
}

bool Mover::IsDone(const Return& coming) const {
  if (!coming.copies) return true;
  return driver_->copy_done != nullptr && driver_->copy_done(driver_->self, coming.job);
}

// Once later work waits for the copies, the pages count as used, so the return cannot be undone.
uint32_t Mover::End(Return* coming, DriverResult* result) {
  *result = coming->copies ? driver_->copy_finish(driver_->self, coming->job) : kDriverSuccess;
  coming->copies = false;
  if (*result != kDriverSuccess && !coming->is_ordered) Drop(coming);
  coming->is_ordered = false;
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
