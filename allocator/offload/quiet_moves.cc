#include "allocator/offload/quiet_moves.h"

#include <algorithm>

namespace vramstow {

void QuietMoves::Open(const Links& links) {
  links_ = links;
  exchange_.Open(links.pool, links.mover, links.list);
  needed_pages_ = 0;
  full_bytes_ = 0;
  advances_.store(false, std::memory_order_relaxed);
}

bool QuietMoves::IsWorthIt(uint64_t away_pages) {
  wanted_pages_ = needed_pages_ != 0 ? needed_pages_ : away_pages;
  needed_pages_ = 0;
  leaving_pages_ = 0;
  if (wanted_pages_ == 0) exchange_.Clear();
  return wanted_pages_ != 0;
}

bool QuietMoves::Set(const QuietRange* ranges, uint64_t count, uint32_t clock) {
  exchange_.Set(ranges, count, clock);
  return wanted_pages_ <= exchange_.List(PagesThatAre::kThere);
}

void QuietMoves::Begin() {
  away_pages_ = exchange_.List(PagesThatAre::kOffloaded);
  was_full_ = false;
  expected_pages_ = wanted_pages_ > away_pages_ ? wanted_pages_ - away_pages_ : 0;
  // Some will be of no use: what is allocated on their pages meanwhile makes these unquiet.
  leaving_pages_ =
      std::min(expected_pages_ + expected_pages_ / kSpare, exchange_.List(PagesThatAre::kResident));
  advances_.store(leaving_pages_ + away_pages_ != 0, std::memory_order_relaxed);
}

void QuietMoves::End() {
  advances_.store(false, std::memory_order_relaxed);
  if (exchange_.under_way() == PagesThatAre::kOffloaded) {
    Finish(EventKind::kReturn, OffloadReason::kTouched, ~uint64_t{0});
  }
  exchange_.Clear();
}

// Exchanges what was copied ahead; returns how many pages moved.
uint64_t QuietMoves::Finish(EventKind kind, OffloadReason reason, uint64_t most) {
  MoveRecord& record = *links_.record;
  if (!links_.standstill->Begin()) {
    Bump(&record.refused, 1);
    exchange_.Cancel();
    return 0;
  }
  const uint64_t since = links_.pool->Now();
  DriverResult result = kDriverSuccess;
  const uint64_t moved = exchange_.Finish(
      most,
      [&](const uint64_t* pages, uint32_t count) {
        MoveRecord::Emit(*links_.pool, kind, pages, count, reason, links_.pool->Now() - since);
      },
      &result);
  links_.standstill->End();
  if (result != kDriverSuccess) Bump(&record.failed, 1);
  if (moved != 0) links_.host->NoteMove();
  Bump(kind == EventKind::kReturn ? &record.in_bytes : &record.out_bytes,
       moved * links_.pool->page_bytes());
  return moved;
}

uint64_t QuietMoves::Relieve(uint64_t most) {
  full_bytes_ = links_.pool->AllocatedBytes();
  if (exchange_.empty()) return 0;
  const uint64_t idle = links_.pool->chunks().idle_chunks();
  leaving_pages_ = 0;
  if (exchange_.under_way() == PagesThatAre::kOffloaded) exchange_.Cancel();
  if (exchange_.under_way() == PagesThatAre::kResident) {
    const uint64_t moved =
        Finish(EventKind::kOffload, OffloadReason::kPressure, std::max(most, expected_pages_));
    if (moved != 0) links_.pool->MarkOffloaded();
  }
  was_full_ = true;
  away_pages_ = exchange_.List(PagesThatAre::kOffloaded);
  advances_.store(away_pages_ != 0, std::memory_order_relaxed);
  const uint64_t now = links_.pool->chunks().idle_chunks();
  return now > idle ? now - idle : 0;
}

void QuietMoves::Advance() {
  if (exchange_.empty() || !advances_.load(std::memory_order_relaxed)) return;
  if (leaving_pages_ != 0) return BeginLeaving();
  if (exchange_.under_way() == PagesThatAre::kPaused) BeginReturning();
}

// Begins to copy one group of pages out: to make memory of the host takes the program's time.
void QuietMoves::BeginLeaving() {
  const uint64_t count = std::min<uint64_t>(leaving_pages_, Transfer::kMostPages);
  const uint64_t begun = exchange_.Begin(PagesThatAre::kResident, links_.host->EnsureMapped(count));
  if (begun != 0) links_.host->NoteMove();
  leaving_pages_ = begun < count ? 0 : leaving_pages_ - begun;
}

// Pages stay on the host until the device was full in this iteration.
void QuietMoves::BeginReturning() {
  PoolPages* const pool = links_.pool;
  // The pages fit if so much of the memory that was in use on the full device is free now.
  const uint64_t bytes = away_pages_ * pool->page_bytes();
  const uint64_t wanted = bytes + std::max(links_.keep_free_bytes, bytes / kSpare);
  const bool has_room = pool->AllocatedBytes() + wanted <= full_bytes_;
  was_full_ = was_full_ || !has_room;
  if (!has_room || !was_full_) return;
  const uint64_t count = exchange_.List(PagesThatAre::kOffloaded);
  // The program is ahead of the device, which still uses what the program has freed: submissions
  // wait, the device does not.
  if (!links_.standstill->WaitForWork()) return;
  pool->TakeCached(count);
  pool->MakeUpTo(count, pool->chunks().idle_chunks());
  if (pool->chunks().idle_chunks() < count) return;
  needed_pages_ = std::max(needed_pages_, count);
  away_pages_ = 0;
  advances_.store(false, std::memory_order_relaxed);
  if (exchange_.Begin(PagesThatAre::kOffloaded, count) != 0) links_.host->NoteMove();
}

}  // namespace vramstow
