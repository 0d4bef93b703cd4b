// What somebody asks of an offloader: to offload, pause and resume what has a tag, or what is idle.
#include <algorithm>

#include "allocator/offload/offloader.h"

namespace vramstow {

// Moves what a tag's blocks hold off the device.
OffloadResult Offloader::MoveTag(uint32_t tag, Motion motion, uint64_t* bytes) {
  const OffloadReason reason = motion == Motion::kOut     ? OffloadReason::kAsked
                               : motion == Motion::kPause ? OffloadReason::kPaused
                                                          : OffloadReason::kDiscarded;
  OffloadResult outcome = OffloadResult::kDone;
  uint64_t moved = 0;
  {
    MutexLock device_lock(&pool_->mutex_);
    if (motion != Motion::kOut) SetAsleep(tag, true);
    const uint64_t all = ListPages(motion == Motion::kOut ? Where::kResident : Where::kThere, tag);
    const uint64_t listed = DropPinned(all);
    moved = MoveSlices(listed, listed, motion, reason, &outcome);
    if (moved != 0) MarkBlocks();
    if (motion != Motion::kOut) SetAsleep(tag, false);
    if (outcome == OffloadResult::kDone && listed < all) outcome = OffloadResult::kBusy;
    last_out_ns_ = pool_->Now();
    last_out_clock_ = Clock();
    Tick();
  }
  *bytes = moved * pool_->chunk_bytes();
  if (moved != 0) pool_->Trim({.bytes = *bytes});
  return outcome;
}

OffloadResult Offloader::Offload(uint32_t tag, uint64_t* bytes) {
  *bytes = 0;
  if (!maps_host_) return OffloadResult::kNotThere;
  Watch(true);
  return MoveTag(tag, Motion::kOut, bytes);
}

OffloadResult Offloader::Pause(uint32_t tag, bool keep, uint64_t* bytes) {
  *bytes = 0;
  if (keep && !pool_->device_.copies) return OffloadResult::kNotThere;
  return MoveTag(tag, keep ? Motion::kPause : Motion::kDiscard, bytes);
}

OffloadResult Offloader::OffloadIdle(uint64_t most_bytes, uint32_t before, uint64_t* bytes) {
  const OffloadResult outcome = MoveOutCold(most_bytes, before, OffloadReason::kAsked, bytes);
  if (*bytes != 0) pool_->Trim({.bytes = *bytes});
  return outcome;
}

uint32_t Offloader::Mark(uint64_t watch_ns) {
  MutexLock device_lock(&pool_->mutex_);
  watch_until_ns_ = std::max(watch_until_ns_, pool_->Now() + watch_ns);
  // The next number of the clock, so that what came before is earlier.
  submissions_.fetch_add(16, std::memory_order_relaxed);
  Watch(true);
  return Clock();
}

OffloadResult Offloader::Resume(uint32_t tag, uint64_t most_bytes, uint64_t* bytes) {
  MutexLock device_lock(&pool_->mutex_);
  *bytes = 0;
  if (!mover_.Restore()) return OffloadResult::kFailed;
  const uint64_t size = pool_->chunk_bytes();
  const uint64_t away = std::min(ListPages(Where::kAway, tag), most_bytes / size);
  const uint64_t idle = pool_->chunks_.idle_chunks();
  // What is cached anywhere is better than more of the device. It may be among what was listed.
  if (idle < away && !pool_->fences_.capturing()) {
    pool_->EnsureAllFences();
    if (!WaitForWork()) return OffloadResult::kBusy;
    pool_->EnsureAllFences();
    pool_->StripAll(away - idle, ~uint32_t{0});
  }
  const uint64_t listed = ListPages(Where::kAway, tag);
  const uint64_t wanted = std::min(listed, most_bytes / size);
  const uint64_t count = EnsureDeviceChunks(wanted);
  OffloadResult outcome = OffloadResult::kDone;
  const uint64_t moved = MoveSlices(count, listed, Motion::kBack, OffloadReason::kAsked, &outcome);
  SetAsleep(tag, false);
  MarkBlocks();
  *bytes = moved * size;
  return outcome == OffloadResult::kDone && count < wanted ? OffloadResult::kNoRoom : outcome;
}

}  // namespace vramstow
