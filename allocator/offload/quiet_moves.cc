#include "allocator/offload/quiet_moves.h"

#include <algorithm>
#include <utility>

namespace vramstow {

void QuietMoves::Open(const Links& links) {
  links_ = links;
  parking_.Open(links.pool, links.mover, links.list);
  needed_pages_ = 0;
  wanted_pages_ = 0;
  in_place_pages_ = 0;
  full_bytes_ = 0;
  has_ended_ = false;
  advances_.store(false, std::memory_order_relaxed);
}

bool QuietMoves::IsWorthIt(uint64_t away_pages) {
  if (has_ended_) return false;
  // Parked pages (evicted to the host, and mapped nowhere) that were not needed have freed device
  // memory. That memory serves requests that would otherwise have counted as lacking memory. So the
  // number falls only slowly.
  const uint64_t least = wanted_pages_ - (wanted_pages_ + kFall - 1) / kFall;
  wanted_pages_ = std::max(needed_pages_ != 0 ? needed_pages_ : away_pages, least);
  needed_pages_ = 0;
  leaving_pages_ = 0;
  if (wanted_pages_ == 0) parking_.Clear();
  return wanted_pages_ != 0;
}

// Doubles the time after which a block counts as idle, if too many idle pages were used again
// before they could be evicted: more than one in kFall.
void QuietMoves::AdaptIdle() {
  if (idle_used_ > idle_parked_ / kFall) idle_after_ = std::min(idle_after_ * 2, kMaxIdleAfter);
  idle_used_ = 0;
  idle_known_ = std::exchange(idle_parked_, 0);
}

bool QuietMoves::Set(const QuietRange* ranges, uint64_t count, uint32_t clock) {
  parking_.Set(ranges, count, clock);
  AdaptIdle();
  return wanted_pages_ <= parking_.List(PagesThatAre::kThere) + idle_known_;
}

void QuietMoves::Begin() {
  host_pages_ = parking_.List(PagesThatAre::kOffloaded);
  const uint64_t on_host = host_pages_;
  // Some pages had to stay on the host in the previous iteration, because the device had no memory
  // for them. They stay there again; otherwise each iteration would map them anew.
  if (host_pages_ <= in_place_pages_ && ++kept_in_place_ % kTryAgain != 0) host_pages_ = 0;
  needed_pages_ = on_host;
  step_tick_ = links_.pool->fences().OpenTick(Fences::kEverything);
  was_full_ = false;
  returned_pages_ = 0;
  const uint64_t expected = wanted_pages_ > on_host ? wanted_pages_ - on_host : 0;
  // More pages are copied than are expected to be needed, because some copies will be useless: if a
  // block is allocated on such a page meanwhile, the page is not quiet any more.
  leaving_pages_ = std::min(expected + expected / kSpare, parking_.List(PagesThatAre::kResident));
  idle_pages_ = expected - std::min(expected, leaving_pages_);
  // Copies begin as early as possible, because work may need the memory before all copies are done.
  BeginLeaving();
  course_.Begin();
  course_.Note(links_.pool->AllocatedBytes());
  advances_.store(true, std::memory_order_relaxed);
}

void QuietMoves::End() {
  advances_.store(false, std::memory_order_relaxed);
  parking_.CancelLeaving();
  ReturnAll();
  // If the driver failed to restore some pages, End is called again later.
  has_ended_ = parking_.parked_at_rest() != 0;
  if (!has_ended_) parking_.Clear();
}

void QuietMoves::Finish() {
  if (!parking_.empty()) End();
  if (parking_.parked() != 0) EndReturning();
}

bool QuietMoves::MustEnd() {
  const bool is_coming = parking_.empty() && parking_.parked() != 0;
  return has_ended_ || is_coming || parking_.HasFreed();
}

// --- To the host --------------------------------------------------------------------------------

// Begins to copy one group of pages to the host. Groups are small because creating host memory
// takes the program's time, and because a program that waits for all work of the device also waits
// for the copies.
void QuietMoves::BeginLeaving() {
  const uint64_t count = std::min(leaving_pages_, kGroupPages);
  if (count == 0) return;
  const uint64_t begun = parking_.BeginLeaving(links_.host->EnsureMapped(count));
  if (begun != 0) links_.host->NoteMove();
  leaving_pages_ = begun < count ? 0 : leaving_pages_ - begun;
}

// Begins to copy idle blocks to the host. No work is submitted while the blocks are chosen, so that
// later touches are observed. Returns how many pages are being copied.
uint64_t QuietMoves::BeginLeavingIdle(uint64_t most, uint32_t clock) {
  if (clock <= idle_after_ || !links_.standstill->BeginBesideWork()) return 0;
  uint64_t begun = std::min(parking_.AddIdle(most, clock - idle_after_, clock), most);
  if (begun != 0) begun = parking_.BeginLeavingIdle(links_.host->EnsureMapped(begun));
  links_.standstill->End();
  if (begun != 0) links_.host->NoteMove();
  idle_pages_ -= std::min(idle_pages_, begun);
  return begun;
}

// Unmaps the pages that the optimizer step used in host memory (parks them), once the step has
// finished.
void QuietMoves::ParkHost() {
  PoolPages* const pool = links_.pool;
  const uint64_t now = pool->WaitClock();
  if (!pool->fences().WaitFor(Fences::kEverything, step_tick_, now)) return;
  host_pages_ = 0;
  if (!links_.standstill->BeginBesideWork()) return;
  parking_.ParkHost();
  links_.standstill->End();
}

// Parks up to `most` pages whose copies are on the host: removes their mappings. Returns how many
// were removed from the device.
uint64_t QuietMoves::Park(uint64_t most) {
  MoveRecord& record = *links_.record;
  if (!links_.standstill->BeginBesideWork()) {
    record.NoteRefusal(*links_.pool);
    parking_.CancelLeaving();
    return 0;
  }
  uint64_t since = links_.pool->Now();
  const uint64_t under_way = parking_.leaving_pages();
  DriverResult result = kDriverSuccess;
  const uint64_t left = parking_.Park(
      most,
      [&](const uint64_t* pages, uint32_t count) {
        kDeviceLock.AssertHeld();
        idle_parked_ += parking_.CountIdle(pages, count);
        const uint64_t before = std::exchange(since, links_.pool->Now());
        MoveRecord::Emit(*links_.pool, EventKind::kOffload, pages, count, OffloadReason::kPressure,
                         since - before);
      },
      &result);
  links_.standstill->End();
  links_.pool->MarkOffloaded();
  const uint64_t used = under_way - parking_.leaving_pages() - left;
  idle_used_ += used;
  idle_pages_ += used;
  if (result != kDriverSuccess) Bump(&record.failed, 1);
  if (left == 0) return 0;
  links_.host->NoteMove();
  Bump(&record.out_bytes, left * links_.pool->page_bytes());
  return left;
}

// Parks pages (evicts them to their copies on the host) in the order in which the copies began. If
// there are too few such pages, it parks idle blocks.
void QuietMoves::ParkFirst(uint64_t most, uint32_t clock) {
  for (uint64_t parked = 0; parked < most;) {
    if (!parking_.is_leaving() && BeginLeavingIdle(most - parked, clock) == 0) break;
    // Each call closes the submission gate once. If more pages than needed were evicted, the call
    // would have to wait for more copies.
    parked += Park(std::max(most - parked, kLeastReturning));
  }
}

uint64_t QuietMoves::Reclaim(uint64_t most, uint32_t clock) {
  full_bytes_ = links_.pool->AllocatedBytes();
  course_.Note(full_bytes_ + most * links_.pool->page_bytes());
  if (parking_.empty() || has_ended_) return 0;
  const uint64_t idle = links_.pool->chunks().idle_chunks();
  leaving_pages_ = 0;
  returned_pages_ = 0;
  was_full_ = true;
  if (parking_.is_returning()) EndReturning(QuietParking::Wait::kNo);
  ParkFirst(most, clock);
  const uint64_t now = links_.pool->chunks().idle_chunks();
  return now > idle ? now - idle : 0;
}

// --- Back to the device -------------------------------------------------------------------------

void QuietMoves::Advance(uint32_t clock) {
  if (!advances_.load(std::memory_order_relaxed)) return;
  course_.Tick();
  course_.Note(links_.pool->AllocatedBytes());
  if (leaving_pages_ != 0) return BeginLeaving();
  if (host_pages_ != 0) ParkHost();
  const uint64_t room = Room(/*to_come=*/0);
  // No page is restored until the device has been full in this iteration.
  was_full_ = was_full_ || room == 0;
  if (was_full_ && room != 0) idle_pages_ = 0;
  if (idle_pages_ != 0) BeginLeavingIdle(std::min(idle_pages_, kGroupPages), clock);
  if (parking_.is_returning()) EndReturning(QuietParking::Wait::kNo);
  if (was_full_) {
    BeginReturning(kLeastReturning, course_.MostWithin(kSoonTicks), course_.MostToCome());
  }
}

// Returns how many parked pages fit on the device: the bytes that were in use when it was full,
// minus the allocated bytes (now, or `to_come` if that is more), restored pages and a reserve.
uint64_t QuietMoves::Room(uint64_t to_come) const {
  const uint64_t size = links_.pool->page_bytes();
  const uint64_t away = parking_.parked_at_rest() * size;
  const uint64_t kept = std::max(links_.keep_free_bytes, away / kSpare);
  const uint64_t most = std::max(links_.pool->AllocatedBytes(), to_come);
  const uint64_t used = most + returned_pages_ * size + kept;
  return full_bytes_ > used ? (full_bytes_ - used) / size : 0;
}

// Begins to restore as many pages as fit, unless fewer than `least` fit. Idle blocks are restored
// only if they still fit once `soon` more bytes are allocated, and other pages only if they fit
// once `to_come` more bytes are; otherwise they would soon be evicted again. Returns the number of
// pages that are being restored.
uint64_t QuietMoves::BeginReturning(uint64_t least, uint64_t soon, uint64_t to_come) {
  const uint64_t resting = parking_.parked_at_rest();
  const uint64_t idle_resting = parking_.idle_at_rest();
  const uint64_t idle = std::min(idle_resting, Room(soon));
  const uint64_t others = std::min(resting - idle_resting, Room(to_come));
  uint64_t count = std::min(idle + others, Room(soon));
  if (count == 0 || count < std::min(resting, least)) return 0;
  if (parking_.has_all_groups()) EndReturning();
  PrepareChunks(count);
  count = std::min(count, links_.pool->chunks().idle_chunks());
  const uint64_t first = std::min(idle, count);
  const uint64_t begun = parking_.BeginReturning(first, std::min(others, count - first));
  returned_pages_ += begun;
  if (begun != 0) links_.host->NoteMove();
  return begun;
}

void QuietMoves::PrepareChunks(uint64_t count) {
  links_.pool->ReclaimFreed(count);
  links_.pool->MakeUpTo(count, links_.pool->chunks().idle_chunks());
}

// Begins to restore all of an idle block. If the device has no memory for a page, the page is
// mapped to the host memory that contains it.
void QuietMoves::ReturnBlock(const QuietRange& block) {
  for (const auto wait : {QuietParking::Wait::kNo, QuietParking::Wait::kYes}) {
    uint64_t count = parking_.CountParked(block);
    if (count == 0) return;
    // Some restored blocks may have been freed, and their chunks can now be used for this block.
    EndReturning(wait);
    PrepareChunks(count);
    count = std::min(count, links_.pool->chunks().idle_chunks());
    returned_pages_ += parking_.BeginReturning(block, count);
  }
  if (parking_.CountParked(block) == 0) return;
  if (parking_.MapParked(block) != kDriverSuccess) Bump(&links_.record->failed, 1);
}

bool QuietMoves::Need(uint64_t address) {
  const QuietRange block = parking_.IdleBlockAt(address);
  if (block.bytes == 0) return false;
  ReturnBlock(block);
  if (!parking_.OrderReturning(block)) EndReturning();
  if (parking_.CountParked(block) != 0) return false;
  parking_.NoteBlockBack(block);
  links_.host->NoteMove();
  return true;
}

void QuietMoves::EndReturning(QuietParking::Wait wait) {
  DriverResult result = kDriverSuccess;
  const uint64_t back = parking_.EndReturning(
      wait,
      [&](const uint64_t* pages, uint32_t count) {
        MoveRecord::Emit(*links_.pool, EventKind::kReturn, pages, count, OffloadReason::kTouched,
                         0);
      },
      &result);
  if (result != kDriverSuccess) Bump(&links_.record->failed, 1);
  Bump(&links_.record->in_bytes, back * links_.pool->page_bytes());
}

// Begins to restore all parked pages (pages that were evicted to the host and are mapped nowhere).
// If the driver can make later work wait for the copies, the program continues at once.
void QuietMoves::ReturnAll() {
  for (uint64_t left = parking_.parked_at_rest(); left != 0;) {
    const uint64_t begun = BeginReturning(/*least=*/1, /*soon=*/0, /*to_come=*/0);
    if (begun == 0) break;
    left -= std::min(left, begun);
  }
  if (!parking_.OrderReturning()) EndReturning();
  in_place_pages_ = parking_.List(PagesThatAre::kOffloaded) + parking_.parked_at_rest();
  if (parking_.parked_at_rest() == 0) return;
  if (parking_.MapParked() != kDriverSuccess) Bump(&links_.record->failed, 1);
}

}  // namespace vramstow
