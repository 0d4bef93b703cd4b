#include "allocator/offload/offloader.h"

#include <algorithm>

#include "allocator/core/counter.h"
#include "allocator/core/relaxed_capture.h"

namespace vramstow {

bool Offloader::Open(PoolPages* pool, SubmissionGate* gate, const OffloadConfig& config) {
  pool_ = pool;
  standstill_.Open(pool, gate, config);
  config_ = config;
  slice_pages_ = kFirstSlicePages;
  last_out_ns_ = 0;
  wanted_from_clock_ = 0;
  watch_until_ns_ = 0;
  graphs_away_.store(false, std::memory_order_relaxed);
  mover_.Open(pool->driver(), &pool->events(), &pool->exchange());
  pausing_.Open(pool, &mover_);
  pages_.Open(pool);
  uses_.Open(pool, &pages_);
  quiet_.Open({pool, &mover_, &pages_, &host_, &standstill_, &record_, config.keep_free_bytes});
  host_refusal_ = pool->device().host_memory ? kDriverSuccess : kDriverNotSupported;
  if (!pool->device().copies) config_.host_bytes = 0;
  host_.Open(pool, config_);
  Watch(false);
  if (host_refusal_ == kDriverSuccess && config.tries_host && host_.any()) {
    DeviceLock device_lock(pool->mutex());
    host_refusal_ = TryHost();
  }
  maps_host_ = host_refusal_ == kDriverSuccess;
  return maps_host_;
}

DriverResult Offloader::TryHost() {
  ChunkExchange& chunks = pool_->exchange();
  RelaxedCapture relaxed(pool_->driver());
  relaxed.Begin();
  const DriverResult made = chunks.MakeHost(ChunkExchange::OwnAddressIs::kNone);
  if (made != kDriverSuccess) return made;
  const DriverResult tried = mover_.Try();
  chunks.ReleaseHost(1);
  return tried;
}

void Offloader::Close(bool alive) {
  DeviceLock device_lock(pool_->mutex());
  quiet_.Close(alive);
  mover_.Close(alive);
  host_.Close(alive);
  pages_.Close();
  graphs_away_.store(false, std::memory_order_relaxed);
  config_.records_touches = false;
  Watch(false);
}

void Offloader::Watch(bool wanted) {
  wanted = wanted || config_.records_touches;
  tracks_touches_.store(wanted, std::memory_order_relaxed);
  pool_->SetClock(wanted ? Clock() : 0);
}

// --- Moving -------------------------------------------------------------------------------------

uint32_t Offloader::MoveSlice(uint64_t* slice, uint32_t count, Motion motion,
                              DriverResult* result) {
  if (motion == Motion::kOut) return mover_.Move(slice, count, ChunkMemory::kHost, result);
  if (motion == Motion::kBack) return mover_.Move(slice, count, ChunkMemory::kDevice, result);
  return pausing_.Pause(slice, count, /*keep=*/motion == Motion::kPause, result);
}

// Moves the first `count` of the listed pages and returns how many moved. If fewer moved, *outcome
// is the reason. The device's lock is held. The submission gate is closed for each slice.
uint64_t Offloader::MoveSlices(uint64_t count, Motion motion, OffloadReason reason,
                               OffloadResult* outcome) {
  uint64_t moved = 0;
  *outcome = OffloadResult::kDone;
  while (moved < count && moved < pages_.count()) {
    if (standstill_.gives_up()) break;
    uint64_t wanted = std::min({count - moved, pages_.count() - moved, uint64_t{slice_pages_}});
    wanted = pages_.WholeChunks(moved, wanted, Mover::kMaxPages);
    uint64_t room = wanted;
    if (motion == Motion::kOut) room = host_.EnsureMapped(wanted);
    if (motion == Motion::kPause) {
      room = host_.EnsurePinned(wanted, std::max(count - moved, wanted));
    }
    wanted = pages_.WholeChunks(moved, room, room);
    if (wanted == 0) {
      *outcome = OffloadResult::kNoRoom;
      break;
    }
    uint64_t slice[Mover::kMaxPages];
    for (uint64_t i = 0; i < wanted; ++i) slice[i] = pages_.AddressOf(moved + i);
    std::sort(slice, slice + wanted);
    if (!standstill_.Begin()) {
      *outcome = record_.NoteRefusal(*pool_) ? OffloadResult::kCapturing : OffloadResult::kBusy;
      break;
    }
    DriverResult result = kDriverSuccess;
    const uint32_t done = MoveSlice(slice, static_cast<uint32_t>(wanted), motion, &result);
    const uint64_t duration = standstill_.End();
    const EventKind kind = motion == Motion::kBack ? EventKind::kReturn : EventKind::kOffload;
    MoveRecord::Emit(*pool_, kind, slice, done, reason, duration);
    moved += done;
    // The next slice is as large as the time allows, but at most twice as large as this one.
    const uint64_t fitting = done * config_.slice_ns / std::max<uint64_t>(duration, 1);
    slice_pages_ = static_cast<uint32_t>(std::clamp<uint64_t>(
        std::min<uint64_t>(fitting, uint64_t{slice_pages_} * 2), 1, Mover::kMaxPages));
    if (result != kDriverSuccess) {
      Bump(&record_.failed, 1);
      *outcome = result == kDriverOutOfMemory ? OffloadResult::kNoRoom : OffloadResult::kFailed;
      break;
    }
  }
  const uint64_t bytes = moved * pool_->page_bytes();
  if (moved != 0) host_.NoteMove();
  if (motion == Motion::kBack) Bump(&record_.in_bytes, bytes);
  if (motion == Motion::kOut || motion == Motion::kPause) Bump(&record_.out_bytes, bytes);
  return moved;
}

// Finishes an eviction; the device's lock is held. A touch that has the clock's current number may
// have happened before the page was evicted. So only later numbers prove that work used the page on
// the host.
void Offloader::EndMoveOut(uint64_t spare_pages) {
  last_out_ns_ = pool_->Now();
  wanted_from_clock_ = Clock() + 1;
  const uint64_t away = pool_->exchange().mapped_host_pages() + quiet_.parked_pages();
  quiet_.NoteAway(away - std::min(away, spare_pages));
}

uint64_t Offloader::Reclaim(void* self, uint64_t bytes) {
  return static_cast<Offloader*>(self)->MoveOut(bytes, OffloadReason::kPressure);
}

uint64_t Offloader::MoveOut(uint64_t bytes, OffloadReason reason) {
  uint64_t moved = 0;
  MoveOutCold(bytes, ~uint32_t{0}, reason, &moved);
  return moved;
}

OffloadResult Offloader::MoveOutCold(uint64_t bytes, uint32_t before, OffloadReason reason,
                                     uint64_t* moved_bytes) {
  *moved_bytes = 0;
  if (!maps_host_) return OffloadResult::kNotThere;
  if (!host_.any()) return OffloadResult::kNoRoom;
  Watch(true);
  DeviceLock device_lock(pool_->mutex());
  const uint64_t size = pool_->page_bytes();
  // A request for idle memory evicts the longest untouched pages, whatever the policy is.
  const bool pressure = reason == OffloadReason::kPressure;
  if (pressure) StartClockAnew();
  const uint64_t reclaimed =
      pressure ? quiet_.Reclaim((bytes + size - 1) / size, Clock()) * size : 0;
  if (reclaimed >= bytes) {
    EndMoveOut((reclaimed - bytes) / size);
    *moved_bytes = reclaimed;
    return OffloadResult::kDone;
  }
  bytes -= reclaimed;
  pages_.Fill(PagesThatAre::kResident, kAnyTag, pressure ? config_.policy : kColdest, Clock());
  pages_.DropPinned();
  pages_.DropTouchedSince(before);
  const uint64_t count = std::min(bytes / size + (bytes % size != 0 ? 1 : 0), pages_.count());
  pages_.PutSmallestFirst(count);
  OffloadResult outcome = OffloadResult::kDone;
  const uint64_t moved = MoveSlices(count, Motion::kOut, reason, &outcome);
  if (moved != 0) pool_->MarkOffloaded();
  EndMoveOut();
  *moved_bytes = reclaimed + moved * size;
  return outcome;
}

// Returns how many bytes may be restored. The device's lock is held.
uint64_t Offloader::Room() {
  const uint64_t chunks = pool_->NewChunks(/*if_unknown=*/0) + pool_->chunks().idle_chunks();
  const uint64_t bytes = chunks * pool_->page_bytes();
  return bytes > config_.keep_free_bytes ? bytes - config_.keep_free_bytes : 0;
}

// Makes device chunks until `count` are idle; returns how many are. The device's lock is held.
uint64_t Offloader::EnsureDeviceChunks(uint64_t count) {
  pool_->MakeUpTo(count, pool_->chunks().idle_chunks());
  return std::min(count, pool_->chunks().idle_chunks());
}

uint64_t Offloader::BringBack(uint64_t most_bytes) {
  DeviceLock device_lock(pool_->mutex());
  uses_.Look(Clock());
  // The pages that could not be mapped before are tried again first.
  mover_.Restore();
  const bool is_calm = pool_->Now() - last_out_ns_ >= config_.calm_ns;
  if ((is_calm || most_bytes == 0) && quiet_.MustEnd()) quiet_.Finish();
  if (pool_->exchange().mapped_host_pages() == 0) {
    if (pool_->WaitClock() >= watch_until_ns_ && quiet_.empty()) Watch(false);
    return 0;
  }
  if (!is_calm || standstill_.stopping()) return 0;
  const uint64_t size = pool_->page_bytes();
  ListPages(PagesThatAre::kOffloaded, kAnyTag);
  pages_.DropUntouchedSince(wanted_from_clock_);
  uint64_t count = std::min(pages_.count(), std::min(most_bytes, Room()) / size);
  pages_.PutLargestFirst(count);
  count = EnsureDeviceChunks(count);
  OffloadResult outcome = OffloadResult::kDone;
  standstill_.set_hears_stop(true);
  uint64_t moved = MoveSlices(count, Motion::kBack, OffloadReason::kTouched, &outcome);
  if (count == 0 && quiet_.empty()) moved = ExchangePages(most_bytes / size);
  standstill_.set_hears_stop(false);
  return moved * size;
}

uint64_t Offloader::ExchangePages(uint64_t most) {
  uint64_t count = uses_.ListResting(most, Clock());
  if (count == 0) return 0;
  OffloadResult outcome = OffloadResult::kDone;
  count = MoveSlices(count, Motion::kOut, OffloadReason::kPressure, &outcome);
  if (count != 0) pool_->MarkOffloaded();
  wanted_from_clock_ = Clock() + 1;
  count = EnsureDeviceChunks(uses_.ListOftenUsed(count, Clock()));
  return MoveSlices(count, Motion::kBack, OffloadReason::kTouched, &outcome);
}

// --- Quiet times --------------------------------------------------------------------------------

void Offloader::BeginQuiet(const QuietRange* ranges, uint64_t count) {
  if (!maps_host_ || !host_.any()) return;
  DeviceLock device_lock(pool_->mutex());
  quiet_.Finish();
  // If the job fits on the device, no driver call is made.
  if (!quiet_.IsWorthIt(pool_->exchange().mapped_host_pages())) return;
  Watch(true);
  StartClockAnew();
  if (quiet_.Set(ranges, count, Clock())) BringBackOthers();
  quiet_.Begin();
}

// Advances the clock of touches to a new number, so that later touches differ from earlier ones.
void Offloader::StartClockAnew() {
  const uint64_t now = submissions_.load(std::memory_order_relaxed);
  submissions_.fetch_add(kClockStep - now % kClockStep, std::memory_order_relaxed);
  pool_->SetClock(Clock());
}

// Restores the memory that is not quiet (memory that work may use now). Only as many quiet bytes as
// the iteration lacks shall be on the host. ReclaimFreed drops pages that only freed blocks had, so
// the pages are listed again after it.
void Offloader::BringBackOthers() {
  const auto list = [this] {
    kDeviceLock.AssertHeld();
    pages_.Fill(PagesThatAre::kOffloaded, kAnyTag, quiet_.known(), Clock());
    pages_.DropRank(QuietBlocks::kQuiet);
    return pages_.count();
  };
  const uint64_t wanted = list();
  if (wanted == 0) return;
  // This call also drops offloaded pages that only freed blocks had.
  pool_->ReclaimFreed(wanted);
  const uint64_t count = EnsureDeviceChunks(list());
  OffloadResult outcome = OffloadResult::kDone;
  MoveSlices(count, Motion::kBack, OffloadReason::kTouched, &outcome);
}

void Offloader::EndQuiet() {
  if (!maps_host_) return;
  DeviceLock device_lock(pool_->mutex());
  if (!quiet_.empty()) quiet_.End();
}

void Offloader::Need(uint64_t address) {
  DeviceLock device_lock(pool_->mutex());
  if (!quiet_.Need(address) && !quiet_.empty()) quiet_.End();
}

void Offloader::AdvanceQuiet() {
  DeviceLock device_lock(pool_->mutex());
  StartClockAnew();
  quiet_.Advance(Clock());
}

// --- Numbers ------------------------------------------------------------------------------------

OffloadStats Offloader::Stats() const {
  OffloadStats stats{};
  stats.out_bytes = record_.out_bytes.load(std::memory_order_relaxed);
  stats.in_bytes = record_.in_bytes.load(std::memory_order_relaxed);
  stats.offloaded_bytes = pool_->exchange().offloaded_bytes();
  stats.paused_bytes = pool_->exchange().paused_bytes() - pool_->exchange().parked_bytes();
  stats.host_bytes = pool_->exchange().host_bytes();
  stats.lacking_bytes = lacking_.load(std::memory_order_relaxed);
  stats.released_host_bytes = host_.released_bytes();
  stats.gate_closed = standstill_.count();
  stats.gate_ns = standstill_.all_ns();
  stats.longest_gate_ns = standstill_.longest_ns();
  stats.refused = record_.refused.load(std::memory_order_relaxed);
  stats.refused_in_capture = record_.refused_in_capture.load(std::memory_order_relaxed);
  stats.failed = record_.failed.load(std::memory_order_relaxed);
  stats.mappings_used_up = host_.mappings_used_up();
  return stats;
}

}  // namespace vramstow
