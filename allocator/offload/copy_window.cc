#include "allocator/offload/copy_window.h"

#include <algorithm>

namespace vramstow {

void CopyWindow::Open(const DriverTable* driver, const PoolEvents* events, ChunkExchange* chunks) {
  driver_ = driver;
  events_ = events;
  chunks_ = chunks;
}

void CopyWindow::Close(bool alive) {
  if (alive && window_ != 0) {
    Free();
    const uint64_t size = kPlaces * chunks_->chunk_bytes();
    events_->Address(EventKind::kUnreserve, window_, size);
    driver_->unreserve(driver_->self, window_, size);
  }
  window_ = 0;
}

bool CopyWindow::Free() {
  for (uint32_t i = 0; i < kPlaces; ++i) {
    if (stuck_[i] == 0) continue;
    if (chunks_->UnmapHandle(PlaceOf(i), stuck_[i]) != kDriverSuccess) return false;
    Release(i);
  }
  return true;
}

// Notes that the chunk mapped at this position cannot be unmapped; the window owns it from now on.
void CopyWindow::Keep(uint32_t place, uint32_t* chunk) {
  stuck_[place] = *chunk;
  chunks_->NoteStuck(*chunk, true);
  *chunk = 0;
}

void CopyWindow::Release(uint32_t place) {
  chunks_->NoteStuck(stuck_[place], false);
  chunks_->PutBack(stuck_[place]);
  stuck_[place] = 0;
}

DriverResult CopyWindow::Reserve() {
  if (window_ != 0) return kDriverSuccess;
  const uint64_t size = kPlaces * chunks_->chunk_bytes();
  uint64_t address = 0;
  const DriverResult result =
      driver_->reserve(driver_->self, size, chunks_->chunk_bytes(), &address);
  if (result != kDriverSuccess) return result;
  window_ = address;
  events_->Address(EventKind::kReserve, address, size);
  return kDriverSuccess;
}

DriverResult CopyWindow::Map(const uint32_t* fresh, uint32_t count) {
  DriverResult result = kDriverSuccess;
  for (uint32_t i = 0; i < count && result == kDriverSuccess; ++i) {
    if (chunks_->OwnAddress(fresh[i]) != 0) continue;
    result = Reserve();
    if (result == kDriverSuccess) result = chunks_->MapHandle(PlaceOf(i), fresh[i]);
    placed_[i] = result == kDriverSuccess;
  }
  for (uint32_t i = 0; i < count && result == kDriverSuccess;) {
    const uint32_t run = RunFrom(i, count);
    if (run != 0) {
      result =
          chunks_->GiveAccess(PlaceOf(i), run * chunks_->chunk_bytes(), chunks_->IsHost(fresh[i]));
    }
    i += run + 1;
  }
  return result;
}

// Returns how many consecutive positions from this one on have a mapping.
uint32_t CopyWindow::RunFrom(uint32_t place, uint32_t count) const {
  uint32_t run = 0;
  while (place + run < count && placed_[place + run]) ++run;
  return run;
}

DriverResult CopyWindow::Empty(uint32_t* fresh, uint32_t count) {
  DriverResult result = kDriverSuccess;
  for (uint32_t i = 0; i < count;) {
    const uint32_t run = RunFrom(i, count);
    if (run < 2 || chunks_->UnmapHandles(PlaceOf(i), fresh + i, run) != kDriverSuccess) {
      const DriverResult one = EmptyRun(i, run, fresh);
      if (one != kDriverSuccess) result = one;
    }
    std::fill(placed_ + i, placed_ + i + run, false);
    i += run + 1;
  }
  return result;
}

DriverResult CopyWindow::EmptyRun(uint32_t place, uint32_t run, uint32_t* fresh) {
  DriverResult result = kDriverSuccess;
  for (uint32_t i = place; i < place + run; ++i) {
    const DriverResult removed = chunks_->UnmapHandle(PlaceOf(i), fresh[i]);
    if (removed == kDriverSuccess) continue;
    Keep(i, &fresh[i]);
    result = removed;
  }
  return result;
}

}  // namespace vramstow
