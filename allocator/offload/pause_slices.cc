#include "allocator/offload/pause_slices.h"

#include <algorithm>

#include "allocator/core/relaxed_capture.h"

namespace vramstow {

void PauseSlices::Open(PoolPages* pool, Mover* mover) {
  pool_ = pool;
  mover_ = mover;
  unreleased_ = 0;
  released_.store(0, std::memory_order_relaxed);
}

DriverResult PauseSlices::BeginCopies(const uint64_t* pages, const uint32_t* pinned, uint32_t count,
                                      uint64_t* job) {
  const DriverTable* driver = pool_->driver();
  const ChunkExchange& chunks = pool_->exchange();
  DriverCopy copies[Mover::kMaxPages];
  for (uint32_t i = 0; i < count; ++i) {
    copies[i] = {chunks.PinnedMemory(pinned[i]), pages[i], chunks.chunk_bytes()};
  }
  return driver->copy_start(driver->self, copies, count, job);
}

uint32_t PauseSlices::Pause(const uint64_t* pages, uint32_t count, bool keep,
                            DriverResult* result) {
  *result = kDriverInvalidValue;
  if (!mover_->Restore()) return 0;
  count = std::min(count, Mover::kMaxPages);
  uint32_t pinned[Mover::kMaxPages] = {};
  if (keep) count = mover_->DetachChunks(ChunkMemory::kPinned, pinned, count);
  *result = count == 0 ? kDriverOutOfMemory : kDriverSuccess;
  uint64_t job = 0;
  if (keep && count != 0) *result = BeginCopies(pages, pinned, count, &job);
  const bool copies = keep && *result == kDriverSuccess;
  if (copies) {
    ReleaseEarlier();
    *result = pool_->driver()->copy_finish(pool_->driver()->self, job);
  }
  const uint32_t paused = mover_->Pause(pages, pinned, count, result);
  mover_->PutBack(pinned, paused, count);
  unreleased_ += paused;
  return paused;
}

void PauseSlices::ReleaseEarlier() {
  if (unreleased_ == 0) return;
  RelaxedCapture relaxed(pool_->driver());
  relaxed.Begin();
  const uint64_t released = pool_->ReleaseIdle(unreleased_);
  unreleased_ -= std::min(unreleased_, released);
  released_.fetch_add(released, std::memory_order_relaxed);
}

void PauseSlices::Trim(uint64_t bytes) {
  pool_->Trim(bytes, released_.exchange(0, std::memory_order_relaxed));
}

}  // namespace vramstow
