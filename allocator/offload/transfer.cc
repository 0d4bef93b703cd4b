#include "allocator/offload/transfer.h"

#include <algorithm>

namespace vramstow {

void Transfer::Open(const DriverTable* driver, const PoolEvents* events, ChunkExchange* chunks,
                    Mover* mover) {
  driver_ = driver;
  mover_ = mover;
  page_bytes_ = chunks->chunk_bytes();
  count_ = 0;
  window_.Open(driver, events, chunks);
}

void Transfer::Close(bool alive) {
  if (alive) Cancel();
  count_ = 0;
  window_.Close(alive);
}

DriverResult Transfer::Begin(const uint64_t* pages, uint32_t count, ChunkMemory to) {
  if (!window_.Free()) return kDriverUnknown;
  if (driver_->copy_start_after == nullptr) return kDriverNotSupported;
  const uint32_t taken = mover_->TakeChunks(to, fresh_, std::min(count, kMostPages));
  if (taken == 0) return kDriverOutOfMemory;
  DriverResult result = window_.Map(fresh_, taken);
  DriverCopy copies[kMostPages];
  for (uint32_t i = 0; i < taken; ++i) {
    pages_[i] = pages[i];
    copies[i] = {window_.AddressOf(i, fresh_[i]), pages[i], page_bytes_};
  }
  if (result == kDriverSuccess) {
    result = driver_->copy_start_after(driver_->self, copies, taken, &job_);
  }
  if (result == kDriverSuccess) {
    count_ = taken;
    is_done_ = false;
    return result;
  }
  window_.Empty(fresh_, taken);
  mover_->PutBack(fresh_, 0, taken);
  return result;
}

bool Transfer::Has(uint64_t address, uint64_t bytes) const {
  return std::any_of(pages_, pages_ + count_, [&](uint64_t page) {
    return page < address + bytes && address < page + page_bytes_;
  });
}

void Transfer::Wait() {
  if (count_ == 0 || is_done_) return;
  copied_ = driver_->copy_finish(driver_->self, job_);
  is_done_ = true;
}

// The copies are done, and the window is empty. On an error nothing is known of the copies.
DriverResult Transfer::Stop() {
  Wait();
  const DriverResult result = count_ == 0 ? kDriverSuccess : copied_;
  // A chunk that is stuck in the window is 0 in fresh_, and its page stays where it is.
  window_.Empty(fresh_, count_);
  return result;
}

uint32_t Transfer::Exchange(uint32_t count, uint64_t* moved, DriverResult* result) {
  uint32_t done = 0;
  if (count != 0 && *result == kDriverSuccess && mover_->Restore()) {
    done = mover_->Exchange(pages_, fresh_, count, result);
  }
  std::copy(pages_, pages_ + done, moved);
  mover_->PutBack(fresh_, done, count_);
  count_ = 0;
  return done;
}

void Transfer::Cancel() {
  if (count_ == 0) return;
  Stop();
  mover_->PutBack(fresh_, 0, count_);
  count_ = 0;
}

}  // namespace vramstow
