// The requests to an offloader: offload, pause or resume the blocks of a tag, or offload idle
// memory.
#include <algorithm>

#include "allocator/core/counter.h"
#include "allocator/offload/offloader.h"

namespace vramstow {
namespace {

// Returns the reason for which most of the remaining pages did not move.
OffloadResult WhyItStays(const PageList::PinnedPages& pinned) {
  if (pinned.by_graphs + pinned.by_others == 0) return OffloadResult::kDone;
  return pinned.by_graphs < pinned.by_others ? OffloadResult::kHeld : OffloadResult::kOfGraph;
}

}  // namespace

// Moves the memory of a tag's blocks off the device. The result gives the reason if pages stay on
// the device. If the request is for all memory, pages of the heaps of graphs that stay are no
// reason, because they were not requested.
OffloadResult Offloader::MoveTag(uint32_t tag, Motion motion, const PauseOptions& options,
                                 uint64_t* bytes) {
  const bool graphs = options.graphs;
  const OffloadReason reason = motion == Motion::kOut     ? OffloadReason::kAsked
                               : motion == Motion::kPause ? OffloadReason::kPaused
                                                          : OffloadReason::kDiscarded;
  OffloadResult outcome = OffloadResult::kDone;
  uint64_t moved = 0;
  {
    DeviceLock device_lock(pool_->mutex());
    quiet_.Finish();
    pausing_.Begin();
    if (graphs) graphs_away_.store(true, std::memory_order_relaxed);
    if (motion != Motion::kOut) pool_->Pause(tag, graphs);
    ListPages(motion == Motion::kOut ? PagesThatAre::kResident : PagesThatAre::kThere, tag,
              graphs || tag != kAnyTag);
    const PageList::PinnedPages pinned = pages_.DropPinned(graphs);
    moved = MoveSlices(std::min(pages_.count(), options.MostPages(pool_->page_bytes())), motion,
                       reason, &outcome);
    if (moved != 0) pool_->MarkOffloaded();
    if (motion != Motion::kOut) pool_->EndPause(tag);
    if (outcome == OffloadResult::kDone) outcome = WhyItStays(pinned);
    NoteGraphs();
    EndMoveOut();
  }
  *bytes = moved * pool_->page_bytes();
  if (moved != 0) pausing_.Trim(*bytes);
  return outcome;
}

OffloadResult Offloader::Offload(uint32_t tag, uint64_t* bytes) {
  *bytes = 0;
  if (!maps_host_) return OffloadResult::kNotThere;
  Watch(true);
  return MoveTag(tag, Motion::kOut, {.keep = true}, bytes);
}

OffloadResult Offloader::Pause(uint32_t tag, const PauseOptions& options, uint64_t* bytes) {
  *bytes = 0;
  if (options.keep && !pool_->device().copies) return OffloadResult::kNotThere;
  return MoveTag(tag, options.keep ? Motion::kPause : Motion::kDiscard, options, bytes);
}

// Updates whether memory that a graph may use is still paused.
void Offloader::NoteGraphs() {
  if (!graphs_away_.load(std::memory_order_relaxed)) return;
  ListPages(PagesThatAre::kPaused, kAnyTag, /*graphs=*/true);
  graphs_away_.store(pages_.AnyOfGraphs(), std::memory_order_relaxed);
}

OffloadResult Offloader::OffloadIdle(uint64_t most_bytes, uint32_t before, uint64_t* bytes) {
  const OffloadResult outcome = MoveOutCold(most_bytes, before, OffloadReason::kAsked, bytes);
  if (*bytes != 0) pool_->Trim(*bytes);
  return outcome;
}

uint32_t Offloader::Mark(uint64_t watch_ns) {
  DeviceLock device_lock(pool_->mutex());
  watch_until_ns_ = std::max(watch_until_ns_, pool_->WaitClock() + watch_ns);
  // Advances to the next number of the clock, so that all touches so far are earlier.
  submissions_.fetch_add(16, std::memory_order_relaxed);
  Watch(true);
  return Clock();
}

uint64_t Offloader::EndReturn(Mover::Return* coming, DriverResult* result) {
  const uint32_t count = mover_.End(coming, result);
  MoveRecord::Emit(*pool_, EventKind::kReturn, coming->pages, count, OffloadReason::kAsked, 0);
  return count;
}

// Restores the paused pages of a tag (pages without device memory that nothing may touch); the
// device's lock is held. No work has to be waited for: while one slice is copied, chunks are made
// and mapped for the next. If the device lacks memory for all pages none is restored, because a
// part would be useless and would occupy memory that other requests could use.
uint64_t Offloader::ReturnPaused(uint32_t tag, uint64_t most, OffloadResult* outcome) {
  const uint64_t listed = std::min(ListPages(PagesThatAre::kPaused, tag, true), most);
  // If the free memory of the device is unknown, the pages are restored as if it were enough.
  const uint64_t room =
      pool_->NewChunks(/*if_unknown=*/listed) + pool_->chunks().IdleFor(Fences::kEverything);
  const uint64_t lacking = listed > room ? listed - room : 0;
  lacking_.store(lacking * pool_->page_bytes(), std::memory_order_relaxed);
  if (lacking != 0) {
    *outcome = OffloadResult::kNoRoom;
    return 0;
  }
  pages_.SortByAddress(listed);
  Mover::Return slices[2];
  uint64_t laid = 0;
  uint64_t returned = 0;
  DriverResult result = kDriverSuccess;
  for (int at = 0; result == kDriverSuccess && laid < listed; at ^= 1) {
    Mover::Return& next = slices[at];
    next.count = static_cast<uint32_t>(std::min(listed - laid, uint64_t{Mover::kMaxPages}));
    for (uint32_t i = 0; i < next.count; ++i) next.pages[i] = pages_.AddressOf(laid + i);
    // Only chunks that no unfinished work uses are taken.
    pool_->MakeUpTo(next.count, pool_->chunks().IdleFor(Fences::kEverything));
    result = mover_.Lay(&next);
    laid += next.count;
    DriverResult ended = kDriverSuccess;
    returned += EndReturn(&slices[at ^ 1], &ended);
    const DriverResult begun = mover_.Begin(&next);
    if (result == kDriverSuccess) result = ended == kDriverSuccess ? begun : ended;
  }
  for (Mover::Return& last : slices) {
    DriverResult ended = kDriverSuccess;
    returned += EndReturn(&last, &ended);
    if (result == kDriverSuccess) result = ended;
  }
  if (result == kDriverOutOfMemory) *outcome = OffloadResult::kNoRoom;
  if (result != kDriverSuccess && result != kDriverOutOfMemory) {
    Bump(&record_.failed, 1);
    *outcome = OffloadResult::kFailed;
  }
  if (returned != 0) host_.NoteMove();
  Bump(&record_.in_bytes, returned * pool_->page_bytes());
  return returned;
}

// Restores the paused pages of one tag, also into cached memory; the device's lock is held. Waits
// for work that uses the cached memory only if that memory is needed.
uint64_t Offloader::ReturnRegion(uint32_t tag, uint64_t most, OffloadResult* outcome) {
  pool_->ReclaimCached(std::min(ListPages(PagesThatAre::kPaused, tag, true), most));
  uint64_t moved = ReturnPaused(tag, most, outcome);
  if (*outcome != OffloadResult::kNoRoom || moved == most) return moved;
  *outcome = standstill_.WaitForWork() ? OffloadResult::kDone : OffloadResult::kBusy;
  if (*outcome != OffloadResult::kDone) return moved;
  pool_->ReclaimCached(std::min(ListPages(PagesThatAre::kPaused, tag, true), most - moved));
  return moved + ReturnPaused(tag, most - moved, outcome);
}

// Restores offloaded pages, as far as device memory is free. Work may touch these pages, so the
// submission gate is closed meanwhile. `list()` lists the pages and returns their number. The
// device's lock is held.
template <typename List>
uint64_t Offloader::ReturnOffloaded(List list, uint64_t most, OffloadResult* outcome) {
  pool_->ReclaimCached(std::min(list(), most));
  uint64_t wanted = std::min(list(), most);
  uint64_t count = EnsureDeviceChunks(wanted);
  if (count < wanted && standstill_.WaitForWork()) {
    pool_->ReclaimCached(wanted);
    wanted = std::min(list(), most);
    count = EnsureDeviceChunks(wanted);
  }
  const uint64_t moved = MoveSlices(count, Motion::kBack, OffloadReason::kAsked, outcome);
  if (*outcome == OffloadResult::kDone && count < wanted) *outcome = OffloadResult::kNoRoom;
  return moved;
}

// Evicts other memory if the device lacks memory for the held memory. Held memory is never evicted.
OffloadResult Offloader::ReturnHeld(uint64_t address, uint64_t size) {
  const auto list = [this, address, size] {
    kDeviceLock.AssertHeld();
    return pages_.FillFrom(address, size);
  };
  for (bool makes_room = pool_->has_reclaim_callback();; makes_room = false) {
    uint64_t left = 0;
    {
      DeviceLock device_lock(pool_->mutex());
      quiet_.Finish();
      mover_.Restore();
      OffloadResult outcome = OffloadResult::kDone;
      if (list() != 0) ReturnOffloaded(list, ~uint64_t{0}, &outcome);
      pool_->MarkOffloaded();
      left = list();
      if (left != 0 && (outcome != OffloadResult::kNoRoom || !makes_room)) return outcome;
    }
    if (left == 0) break;
    MoveOut(left * pool_->page_bytes(), OffloadReason::kPressure);
  }
  return pool_->BytesOnHost(address, size) == 0 ? OffloadResult::kDone : OffloadResult::kHeld;
}

// If all tags are to be resumed, each tag for which there is memory is restored.
OffloadResult Offloader::Resume(uint32_t tag, uint64_t most_bytes, uint64_t* bytes) {
  DeviceLock device_lock(pool_->mutex());
  *bytes = 0;
  quiet_.Finish();
  if (!mover_.Restore() || quiet_.parked_pages() != 0) return OffloadResult::kFailed;
  if (pool_->fences().capturing()) return OffloadResult::kCapturing;
  const uint64_t most = most_bytes / pool_->page_bytes();
  const bool all = tag == kAnyTag;
  uint64_t moved = 0;
  uint64_t lacking = 0;
  OffloadResult outcome = OffloadResult::kDone;
  for (uint32_t region = all ? pool_->PausedTagFrom(0) : tag; region != kAnyTag;
       region = all ? pool_->PausedTagFrom(region + 1) : kAnyTag) {
    OffloadResult ended = OffloadResult::kDone;
    moved += ReturnRegion(region, most - moved, &ended);
    lacking += lacking_.load(std::memory_order_relaxed);
    if (outcome == OffloadResult::kDone) outcome = ended;
  }
  lacking_.store(lacking, std::memory_order_relaxed);
  const auto list = [this, tag] {
    kDeviceLock.AssertHeld();
    return ListPages(PagesThatAre::kOffloaded, tag);
  };
  if (outcome == OffloadResult::kDone) moved += ReturnOffloaded(list, most - moved, &outcome);
  pool_->EndPause(tag);
  pool_->MarkOffloaded();
  NoteGraphs();
  *bytes = moved * pool_->page_bytes();
  return outcome;
}

}  // namespace vramstow
