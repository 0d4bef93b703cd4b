// QuietParking: evicts quiet memory to the host and restores it while work runs.
//
// Idea: memory that nothing uses for a while (quiet_blocks.h) is copied to the host while the
// program's work runs. When the device is full, the copied pages are *parked*: their mappings are
// removed, and nothing else is mapped there. So nobody has to wait for running work, and host
// memory needs no access rights. Parked pages are restored as paused pages are: chunks are mapped
// under them and filled while work continues. A page that was touched since it was copied is not
// parked. A thread that is about to submit work first calls IsAway for each address; a parked block
// is then restored as a whole.
//
// Ownership: the records of moves in progress, in memory of its own, until Close. Threads: the
// device's lock, except for IsAway. Errors: memory that does not move is as before. Units: pages
// are chunks.
#ifndef VRAMSTOW_ALLOCATOR_OFFLOAD_QUIET_PARKING_H_
#define VRAMSTOW_ALLOCATOR_OFFLOAD_QUIET_PARKING_H_

#include <algorithm>
#include <cstdint>

#include "allocator/core/device_lock.h"
#include "allocator/offload/away_ranges.h"
#include "allocator/offload/page_list.h"
#include "allocator/offload/quiet_blocks.h"
#include "allocator/offload/transfer.h"
#include "allocator/pool/pool_pages.h"

namespace vramstow {

class QuietParking {
 public:
  // Connects the object. The list belongs to the caller; most calls fill it anew.
  void Open(PoolPages* pool, Mover* mover, PageList* list);
  void Close(bool alive) VRAMSTOW_REQUIRES(kDeviceLock);

  // Makes the given blocks quiet (no work uses them for a while). A page that is touched at this
  // number of the clock, or later, is not quiet any more. No page is parked, leaving or returning
  // when this is called.
  void Set(const QuietRange* ranges, uint64_t count, uint32_t clock) VRAMSTOW_REQUIRES(kDeviceLock);
  // Finds idle blocks, last touched before this number of the clock, until they have `pages` pages
  // whose copies have not begun. The blocks that it finds are quiet until they are touched, as the
  // blocks of Set are. No work is submitted during this call and until BeginLeavingIdle. Returns
  // how many pages there are.
  uint64_t AddIdle(uint64_t pages, uint32_t touched_before, uint32_t clock)
      VRAMSTOW_REQUIRES(kDeviceLock);
  void Clear() VRAMSTOW_REQUIRES(kDeviceLock);
  bool empty() const VRAMSTOW_REQUIRES(kDeviceLock) { return blocks_.empty(); }
  // A policy that gives quiet pages (pages that no work uses for a while) the rank
  // QuietBlocks::kQuiet.
  OffloadPolicy known() { return blocks_.Known(); }

  // Lists the quiet pages that are in the state `which`. Returns how many.
  uint64_t List(PagesThatAre which) VRAMSTOW_REQUIRES(kDeviceLock);
  // The number of parked pages; and the number of parked pages that are not being restored.
  uint64_t parked() const { return pool_->exchange().parked_bytes() / pool_->page_bytes(); }
  uint64_t parked_at_rest() const { return parked() - laid_; }
  // Returns how many pages of idle blocks are parked and not being restored.
  uint64_t idle_at_rest() VRAMSTOW_REQUIRES(kDeviceLock);
  // True if the address lies in a block of which a page is parked. May be called from any thread;
  // the answer is valid while the submission gate cannot be closed.
  bool IsAway(uint64_t address) const { return away_.Contains(address); }
  bool has_away() const { return !away_.empty(); }

  // Begins to copy up to `most` quiet pages to idle host chunks. Returns how many.
  uint64_t BeginLeaving(uint64_t most) VRAMSTOW_REQUIRES(kDeviceLock);
  // Begins to copy up to `most` pages of idle blocks to idle host chunks, the oldest blocks first.
  // Returns how many.
  uint64_t BeginLeavingIdle(uint64_t most) VRAMSTOW_REQUIRES(kDeviceLock);
  bool is_leaving() const { return leaving_ != 0; }
  uint64_t leaving_pages() const {
    uint64_t count = 0;
    for (uint32_t i = 0; i < leaving_; ++i) count += transfers_[i].count();
    return count;
  }
  // True if as many groups are being restored as can be at once. No other group can begin before
  // EndReturning.
  bool has_all_groups() const { return returning_ == kMax; }
  bool is_returning() const { return returning_ != 0; }
  // True if a parked page lies under a block that was freed.
  bool HasFreed() VRAMSTOW_REQUIRES(kDeviceLock);
  // Parks copied pages that are still valid, in the order of the copies, until `most` pages are
  // parked, and calls left(pages, count) for each group. The submission gate is closed; work that
  // was submitted since the copies began may run. Returns how many pages were removed from the
  // device. Groups that were not needed continue to be copied. The caller then calls MarkOffloaded
  // of the pool.
  template <typename Left>
  uint64_t Park(uint64_t most, Left left, DriverResult* result) VRAMSTOW_REQUIRES(kDeviceLock) {
    ListToPark();
    uint64_t all = 0;
    uint32_t taken = 0;
    *result = kDriverSuccess;
    while (taken < leaving_ && all < most) {
      uint64_t pages[Transfer::kMaxPages];
      DriverResult one = kDriverSuccess;
      const uint32_t count = transfers_[taken++].Park(
          [&](uint64_t page) {
            kDeviceLock.AssertHeld();
            return list_->HasAddress(page);
          },
          pages, &one);
      if (count != 0) left(pages, count);
      all += count;
      if (*result == kDriverSuccess) *result = one;
    }
    std::rotate(transfers_, transfers_ + taken, transfers_ + leaving_);
    leaving_ -= taken;
    NoteAway();
    return all;
  }
  // Parks quiet pages that are mapped to host memory: unmaps them. The submission gate is closed,
  // and no work uses the pages.
  void ParkHost() VRAMSTOW_REQUIRES(kDeviceLock);
  // Cancels the copies to the host, and waits for those that have begun.
  void CancelLeaving() VRAMSTOW_REQUIRES(kDeviceLock);

  // Begins to restore parked pages into idle chunks, after all submitted work: up to `idle` pages
  // of idle blocks, and up to `others` pages of other blocks. Returns how many.
  uint64_t BeginReturning(uint64_t idle, uint64_t others) VRAMSTOW_REQUIRES(kDeviceLock);
  // Begins to restore up to `most` pages of one idle block.
  uint64_t BeginReturning(const QuietRange& block, uint64_t most) VRAMSTOW_REQUIRES(kDeviceLock);
  // Makes work that is submitted from now on wait for the pages that are being restored. Returns
  // false if that work does not wait.
  bool OrderReturning() VRAMSTOW_REQUIRES(kDeviceLock);
  // Makes later work wait for the pages of this block that are being restored. Returns false if
  // that work does not wait.
  bool OrderReturning(const QuietRange& block) VRAMSTOW_REQUIRES(kDeviceLock);
  // Waits for the pages that are being restored, or with Wait::kNo finishes only groups that need
  // no wait. Calls back(pages, count) for each finished group. Returns how many pages were
  // restored.
  enum class Wait : uint8_t { kYes, kNo };
  template <typename Back>
  uint64_t EndReturning(Wait wait, Back back, DriverResult* result) VRAMSTOW_REQUIRES(kDeviceLock) {
    uint64_t all = 0;
    *result = kDriverSuccess;
    uint32_t ended = 0;
    while (ended < returning_ && (wait == Wait::kYes || mover_->IsDone(returns_[ended]))) {
      Mover::Return& coming = returns_[ended++];
      laid_ -= coming.count;
      DriverResult one = kDriverSuccess;
      const uint32_t count = mover_->End(&coming, &one);
      if (count != 0) back(coming.pages, count);
      all += count;
      if (*result == kDriverSuccess) *result = one;
    }
    if (ended == 0) return 0;
    std::rotate(returns_, returns_ + ended, returns_ + returning_);
    returning_ -= ended;
    NoteBack();
    return all;
  }
  // Map parked pages that are not being restored to the host memory that holds them: all pages, or
  // those of one idle block.
  DriverResult MapParked() VRAMSTOW_REQUIRES(kDeviceLock);
  DriverResult MapParked(const QuietRange& block) VRAMSTOW_REQUIRES(kDeviceLock);

  // --- Idle blocks
  // Returns the idle block that contains this address. The range is empty if there is none.
  QuietRange IdleBlockAt(uint64_t address) VRAMSTOW_REQUIRES(kDeviceLock);
  // Returns how many of these pages lie in idle blocks.
  uint64_t CountIdle(const uint64_t* pages, uint32_t count) VRAMSTOW_REQUIRES(kDeviceLock);
  // Returns how many pages of the block are parked and not being restored.
  uint64_t CountParked(const QuietRange& block) VRAMSTOW_REQUIRES(kDeviceLock);
  // Removes the block from the ranges of IsAway. All of its parked pages are being restored.
  void NoteBlockBack(const QuietRange& block) VRAMSTOW_REQUIRES(kDeviceLock);

 private:
  static constexpr uint32_t kMax = 128;  // most groups in progress in one direction

  static void WaitForCopies(void* self, uint64_t address, uint64_t bytes);
  bool EnsureGroups() VRAMSTOW_REQUIRES(kDeviceLock);
  uint64_t ListParked() VRAMSTOW_REQUIRES(kDeviceLock);
  // The work or the copies that a copy waits for.
  enum class After : uint8_t { kAllWork, kFirstGroup };
  uint64_t BeginGroups(uint64_t first, uint64_t count, After after) VRAMSTOW_REQUIRES(kDeviceLock);
  bool BeginGroup(const uint64_t* pages, uint32_t count) VRAMSTOW_REQUIRES(kDeviceLock);
  uint64_t ReturnIdle(uint64_t most) VRAMSTOW_REQUIRES(kDeviceLock);
  template <typename VisitAll>
  uint64_t BeginGroups(uint64_t most, VisitAll visit_all) VRAMSTOW_REQUIRES(kDeviceLock);
  bool MayLeave() VRAMSTOW_REQUIRES(kDeviceLock);
  void ListToPark() VRAMSTOW_REQUIRES(kDeviceLock);
  uint64_t List(PagesThatAre which, const OffloadPolicy& policy) VRAMSTOW_REQUIRES(kDeviceLock);
  template <typename Visitor>
  void VisitParked(const QuietRange& block, Visitor visit) VRAMSTOW_REQUIRES(kDeviceLock);
  void NoteAway() VRAMSTOW_REQUIRES(kDeviceLock);
  void NoteBack() VRAMSTOW_REQUIRES(kDeviceLock);

  PoolPages* pool_ = nullptr;
  Mover* mover_ = nullptr;
  PageList* list_ = nullptr;
  QuietBlocks blocks_;
  AwayRanges away_;
  uint32_t clock_ = 0;
  Transfer* transfers_ = nullptr;  // kMax
  uint32_t leaving_ = 0;
  uint64_t last_leaving_ = 0;         // address of the last page that is leaving
  Mover::Return* returns_ = nullptr;  // kMax
  uint32_t returning_ = 0;
  uint64_t laid_ = 0;  // pages that are being restored
};

}  // namespace vramstow

#endif  // VRAMSTOW_ALLOCATOR_OFFLOAD_QUIET_PARKING_H_
