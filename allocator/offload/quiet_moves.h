// QuietMoves: decides when quiet memory (memory that no work uses for a while) moves: to the host
// before memory is lacking, and back before the quiet time ends.
//
// Idea: an iteration needs as much memory as the previous one. The bytes that the previous one
// lacked are copied from quiet memory to the host in groups, while the device is still busy with
// submitted work. When the device is full, the copied pages are parked (evicted to host memory, see
// quiet_parking.h). As memory becomes free again, they are restored; the end of the quiet time
// waits for the rest. Pages that do not fit then are used on the host.
//
// Ownership: as QuietParking; the objects that `links` names outlive it. Threads: the device's
// lock, except for wants_to_advance and IsAway. Errors: memory that does not move is as before, and
// the record counts it. Units: bytes; pages are chunks.
#ifndef VRAMSTOW_ALLOCATOR_OFFLOAD_QUIET_MOVES_H_
#define VRAMSTOW_ALLOCATOR_OFFLOAD_QUIET_MOVES_H_

#include <atomic>
#include <cstdint>

#include "allocator/core/device_lock.h"
#include "allocator/offload/allocation_course.h"
#include "allocator/offload/host_stock.h"
#include "allocator/offload/move_record.h"
#include "allocator/offload/quiet_parking.h"
#include "allocator/offload/standstill.h"

namespace vramstow {

class QuietMoves {
 public:
  struct Links {
    PoolPages* pool;
    Mover* mover;
    PageList* list;
    HostStock* host;
    Standstill* standstill;
    MoveRecord* record;
    uint64_t keep_free_bytes;
  };

  void Open(const Links& links);
  void Close(bool alive) VRAMSTOW_REQUIRES(kDeviceLock) { parking_.Close(alive); }

  // Notes that the host holds this number of pages for which the device has no memory.
  void NoteAway(uint64_t pages) { needed_pages_ = pages > needed_pages_ ? pages : needed_pages_; }
  // True if a quiet time is worth beginning. False if no memory was lacking for some time and
  // `away_pages` is 0.
  bool IsWorthIt(uint64_t away_pages) VRAMSTOW_REQUIRES(kDeviceLock);
  // Makes the given blocks quiet (no work uses them for a while). A page that is touched at this
  // number of the clock, or later, is not quiet any more. Returns true if the blocks suffice for
  // all memory that will be lacking.
  bool Set(const QuietRange* ranges, uint64_t count, uint32_t clock) VRAMSTOW_REQUIRES(kDeviceLock);
  // Begin lets Advance evict the quiet blocks to the host; End restores them.
  void Begin() VRAMSTOW_REQUIRES(kDeviceLock);
  void End() VRAMSTOW_REQUIRES(kDeviceLock);
  // Ends the quiet time as End does, and waits for the pages that are being restored.
  void Finish() VRAMSTOW_REQUIRES(kDeviceLock);
  bool empty() const VRAMSTOW_REQUIRES(kDeviceLock) { return parking_.empty(); }
  // A policy that gives quiet pages (pages that no work uses for a while) the rank
  // QuietBlocks::kQuiet.
  OffloadPolicy known() { return parking_.known(); }

  // True if Advance should be called at this submission.
  bool wants_to_advance(uint64_t submission) const {
    return advances_.load(std::memory_order_relaxed) && submission % kAdvanceStep == 0;
  }
  // Begins the copies that are due. Later touches have this number of the clock or a later one.
  void Advance(uint32_t clock) VRAMSTOW_REQUIRES(kDeviceLock);
  // Restores the idle block at this address because work is about to use it. Returns false if the
  // block could not be restored or is not idle; the caller must then call End.
  bool Need(uint64_t address) VRAMSTOW_REQUIRES(kDeviceLock);
  // True if work that uses this address must wait for Need or End. May be called by any thread that
  // is inside the submission gate.
  bool IsAway(uint64_t address) const { return parking_.IsAway(address); }
  bool has_away() const { return parking_.has_away(); }
  uint64_t parked_pages() const VRAMSTOW_REQUIRES(kDeviceLock) { return parking_.parked_at_rest(); }
  // True if End must be called during the quiet time. There are two reasons: a parked block was
  // freed, or an earlier call of End failed because of the driver.
  bool MustEnd() VRAMSTOW_REQUIRES(kDeviceLock);
  // Parks pages (evicts them to the host) to free `most` chunks, because memory is lacking. Returns
  // by how many the number of idle chunks has grown. Touches after this call have the clock's
  // number `clock` or a later one.
  uint64_t Reclaim(uint64_t most, uint32_t clock) VRAMSTOW_REQUIRES(kDeviceLock);

 private:
  // Copies begin at every kAdvanceStep-th submission only.
  static constexpr uint64_t kAdvanceStep = 8;
  static constexpr uint64_t kSpare = 8;  // one more page in this many is copied
  // If an iteration needed fewer pages than the one before, the number of pages to copy falls by at
  // most one in kFall.
  static constexpr uint64_t kFall = 16;
  // The device's memory is tried again in one of this many quiet times.
  static constexpr uint64_t kTryAgain = 16;
  // The smallest number of pages that are restored together, because each group needs driver calls.
  // Fewer pages are restored only if no more are parked.
  static constexpr uint64_t kLeastReturning = 32;
  static constexpr uint64_t kGroupPages = Transfer::kMaxPages;
  // Idle blocks are restored if there is room for the most that was allocated within this many
  // ticks.
  static constexpr uint64_t kSoonTicks = 4;

  // How long a block must be untouched to count as idle, by the clock of touches. The time grows if
  // too many idle blocks were used again soon.
  static constexpr uint32_t kLeastIdleAfter = 1;
  static constexpr uint32_t kMaxIdleAfter = 16;

  void AdaptIdle() VRAMSTOW_REQUIRES(kDeviceLock);
  void BeginLeaving() VRAMSTOW_REQUIRES(kDeviceLock);
  uint64_t BeginLeavingIdle(uint64_t most, uint32_t clock) VRAMSTOW_REQUIRES(kDeviceLock);
  void ParkFirst(uint64_t most, uint32_t clock) VRAMSTOW_REQUIRES(kDeviceLock);
  void ParkHost() VRAMSTOW_REQUIRES(kDeviceLock);
  uint64_t Room(uint64_t to_come) const VRAMSTOW_REQUIRES(kDeviceLock);
  uint64_t Park(uint64_t most) VRAMSTOW_REQUIRES(kDeviceLock);
  uint64_t BeginReturning(uint64_t least, uint64_t soon, uint64_t to_come)
      VRAMSTOW_REQUIRES(kDeviceLock);
  void PrepareChunks(uint64_t count) VRAMSTOW_REQUIRES(kDeviceLock);
  void ReturnBlock(const QuietRange& block) VRAMSTOW_REQUIRES(kDeviceLock);
  void EndReturning(QuietParking::Wait wait = QuietParking::Wait::kYes)
      VRAMSTOW_REQUIRES(kDeviceLock);
  void ReturnAll() VRAMSTOW_REQUIRES(kDeviceLock);

  Links links_ = {};
  QuietParking parking_;
  uint64_t needed_pages_ = 0;   // most pages on the host since the last quiet time began
  uint64_t wanted_pages_ = 0;   // the same for the time before
  uint64_t leaving_pages_ = 0;  // pages whose copies to the host have not begun
  uint64_t idle_pages_ = 0;     // pages of idle blocks that are to be copied to the host
  uint32_t idle_after_ = kLeastIdleAfter;
  uint64_t idle_used_ = 0;       // pages of idle blocks that were used before they could be parked
  uint64_t idle_known_ = 0;      // pages of idle blocks that were parked in the time before
  uint64_t idle_parked_ = 0;     // pages of idle blocks that were parked in this quiet time
  uint64_t host_pages_ = 0;      // pages that the step before used on the host
  uint64_t in_place_pages_ = 0;  // pages for which the last step had no device memory
  uint64_t kept_in_place_ = 0;   // quiet times in which these stayed
  uint32_t step_tick_ = 0;       // tick of all streams after that step
  uint64_t returned_pages_ = 0;  // pages restored since the device was full
  uint64_t full_bytes_ = 0;      // bytes that were allocated when the device was full
  AllocationCourse course_;
  bool has_ended_ = false;  // the quiet time has ended, but pages are still parked
  bool was_full_ = false;   // the device was full since the quiet time began
  std::atomic<bool> advances_{false};
};

}  // namespace vramstow

#endif  // VRAMSTOW_ALLOCATOR_OFFLOAD_QUIET_MOVES_H_
