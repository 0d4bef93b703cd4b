#include "allocator/offload/transfer.h"

#include <algorithm>

namespace vramstow {

void Transfer::Open(const DriverTable* driver, ChunkExchange* chunks, Mover* mover) {
  driver_ = driver;
  chunks_ = chunks;
  mover_ = mover;
  page_bytes_ = chunks->chunk_bytes();
  count_ = 0;
}

void Transfer::Close(bool alive) {
  if (alive) Cancel();
  count_ = 0;
}

DriverResult Transfer::Start(const DriverCopy* copies, uint32_t count, const Transfer* previous) {
  void* const self = driver_->self;
  if (previous == nullptr || driver_->copy_start_behind == nullptr) {
    return driver_->copy_start_after(self, copies, count, &job_);
  }
  if (previous->is_done_) return driver_->copy_start(self, copies, count, &job_);
  return driver_->copy_start_behind(self, previous->job_, copies, count, &job_);
}

DriverResult Transfer::Begin(const uint64_t* pages, uint32_t count, const Transfer* previous) {
  if (driver_->copy_start_after == nullptr) return kDriverNotSupported;
  const uint32_t taken =
      mover_->DetachChunks(ChunkMemory::kHost, fresh_, std::min(count, kMaxPages));
  if (taken == 0) return kDriverOutOfMemory;
  DriverResult result = kDriverSuccess;
  DriverCopy copies[kMaxPages];
  for (uint32_t i = 0; i < taken; ++i) {
    const uint64_t own = chunks_->OwnAddress(fresh_[i]);
    if (own == 0) result = kDriverNotSupported;
    pages_[i] = pages[i];
    is_forgotten_[i] = false;
    copies[i] = {own, pages[i], page_bytes_};
  }
  if (result == kDriverSuccess) result = Start(copies, taken, previous);
  if (result != kDriverSuccess) {
    mover_->PutBack(fresh_, 0, taken);
    return result;
  }
  count_ = taken;
  is_done_ = false;
  return result;
}

void Transfer::Forget(uint64_t address, uint64_t bytes) {
  for (uint32_t i = 0; i < count_; ++i) {
    const bool is_in = pages_[i] < address + bytes && address < pages_[i] + page_bytes_;
    is_forgotten_[i] = is_forgotten_[i] || is_in;
  }
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

uint32_t Transfer::Park(uint32_t count, uint64_t* parked, DriverResult* result) {
  const uint32_t done =
      *result == kDriverSuccess && count != 0 ? mover_->Pause(pages_, fresh_, count, result) : 0;
  std::copy(pages_, pages_ + done, parked);
  mover_->PutBack(fresh_, done, count_);
  count_ = 0;
  return done;
}

void Transfer::Cancel() {
  if (count_ == 0) return;
  Wait();
  mover_->PutBack(fresh_, 0, count_);
  count_ = 0;
}

}  // namespace vramstow
