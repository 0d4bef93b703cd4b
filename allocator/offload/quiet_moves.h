// QuietMoves: when quiet memory moves: out before memory lacks, back before the quiet time ends.
//
// Idea: an iteration needs as much room as the one before. This many bytes of quiet memory are
// copied to the host in groups, while the device is behind the program. When the device is full,
// they are parked. As memory becomes free again, they are brought back; the end of the quiet time
// waits for the rest. Pages that do not fit then are used on the host.
//
// Ownership: as QuietParking; what the links name outlives it. Threads: the device's lock, but for
// wants_to_advance and IsAway. Errors: what does not move is as before, and the record counts it.
// Units: bytes; pages are chunks.
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

  // The host holds this number of pages for which the device has no room.
  void NoteAway(uint64_t pages) { needed_pages_ = pages > needed_pages_ ? pages : needed_pages_; }
  // A quiet time may begin. False: nothing lacked for some time, and `away_pages` is 0.
  bool IsWorthIt(uint64_t away_pages) VRAMSTOW_REQUIRES(kDeviceLock);
  // These blocks are quiet. A page that is touched at this number of the clock, or later, is not
  // quiet any more. True: they are enough to make all room that is needed.
  bool Set(const QuietRange* ranges, uint64_t count, uint32_t clock) VRAMSTOW_REQUIRES(kDeviceLock);
  // From now on Advance moves them.
  void Begin() VRAMSTOW_REQUIRES(kDeviceLock);
  void End() VRAMSTOW_REQUIRES(kDeviceLock);
  // Ends the quiet time as End does, and waits for the pages that are on their way back.
  void Finish() VRAMSTOW_REQUIRES(kDeviceLock);
  bool empty() const VRAMSTOW_REQUIRES(kDeviceLock) { return parking_.empty(); }
  // Ranks quiet pages as QuietBlocks::kQuiet.
  OffloadPolicy known() { return parking_.known(); }

  // Whether Advance is to be called, at this submission.
  bool wants_to_advance(uint64_t submission) const {
    return advances_.load(std::memory_order_relaxed) && submission % kAdvanceStep == 0;
  }
  // Touches from now on have this number of the clock, or a later one.
  void Advance(uint32_t clock) VRAMSTOW_REQUIRES(kDeviceLock);
  // Work is about to use the idle block at this address: it is back afterwards. False: it is not,
  // or no idle block lies there; then call End.
  bool Need(uint64_t address) VRAMSTOW_REQUIRES(kDeviceLock);
  // Whether work that uses this address has to wait for Need or End. Any thread that is inside the
  // gate.
  bool IsAway(uint64_t address) const { return parking_.IsAway(address); }
  bool has_away() const { return parking_.has_away(); }
  uint64_t parked_pages() const VRAMSTOW_REQUIRES(kDeviceLock) { return parking_.parked_at_rest(); }
  // Whether End is to be called although the quiet time goes on, because a parked block was freed,
  // or again, because the driver failed.
  bool MustEnd() VRAMSTOW_REQUIRES(kDeviceLock);
  // Memory lacks: makes room for `most` chunks by parking pages. Returns how many idle chunks there
  // are more. Touches from now on have this number of the clock, or a later one.
  uint64_t Relieve(uint64_t most, uint32_t clock) VRAMSTOW_REQUIRES(kDeviceLock);

 private:
  // One submission in this number begins copies.
  static constexpr uint64_t kAdvanceStep = 8;
  static constexpr uint64_t kSpare = 8;  // the copies have one page in this number more
  // Where fewer pages were needed, one page in this number is copied no more.
  static constexpr uint64_t kFall = 16;
  // In one quiet time in this number it is tried whether there is room by now.
  static constexpr uint64_t kTryAgain = 16;
  // Fewer pages come back only if they are all: each group takes calls of the driver.
  static constexpr uint64_t kLeastReturning = 32;
  static constexpr uint64_t kGroupPages = Transfer::kMaxPages;

  // How long nothing must have touched a block before it counts as idle, by the clock. The time
  // grows where too many idle blocks were used again soon.
  static constexpr uint32_t kLeastIdleAfter = 1;
  static constexpr uint32_t kMaxIdleAfter = 16;

  void AdaptIdle() VRAMSTOW_REQUIRES(kDeviceLock);
  void BeginLeaving() VRAMSTOW_REQUIRES(kDeviceLock);
  uint64_t BeginLeavingIdle(uint64_t most, uint32_t clock) VRAMSTOW_REQUIRES(kDeviceLock);
  void ParkFirst(uint64_t most, uint32_t clock) VRAMSTOW_REQUIRES(kDeviceLock);
  void ParkHost() VRAMSTOW_REQUIRES(kDeviceLock);
  uint64_t Room(uint64_t to_come) const VRAMSTOW_REQUIRES(kDeviceLock);
  uint64_t Park(uint64_t most) VRAMSTOW_REQUIRES(kDeviceLock);
  uint64_t BeginReturning(uint64_t least, uint64_t to_come) VRAMSTOW_REQUIRES(kDeviceLock);
  void PrepareChunks(uint64_t count) VRAMSTOW_REQUIRES(kDeviceLock);
  void ReturnBlock(const QuietRange& block) VRAMSTOW_REQUIRES(kDeviceLock);
  void EndReturning(QuietParking::Wait wait = QuietParking::Wait::kYes)
      VRAMSTOW_REQUIRES(kDeviceLock);
  void ReturnAll() VRAMSTOW_REQUIRES(kDeviceLock);

  Links links_ = {};
  QuietParking parking_;
  uint64_t needed_pages_ = 0;   // on the host at most, since the last quiet time began
  uint64_t wanted_pages_ = 0;   // the same of the time before
  uint64_t leaving_pages_ = 0;  // that are to be copied out, and are not under way
  uint64_t idle_pages_ = 0;     // pages of idle blocks that are to be copied out
  uint32_t idle_after_ = kLeastIdleAfter;
  uint64_t idle_used_ = 0;       // pages of idle blocks that were used before they could be parked
  uint64_t idle_known_ = 0;      // pages of idle blocks that were parked in the time before
  uint64_t idle_parked_ = 0;     // pages of idle blocks that were parked in this quiet time
  uint64_t host_pages_ = 0;      // that the step before used on the host
  uint64_t in_place_pages_ = 0;  // for which the last step had no room
  uint64_t kept_in_place_ = 0;   // quiet times in which these stayed
  uint32_t step_tick_ = 0;       // of all streams, behind that step
  uint64_t returned_pages_ = 0;  // since the device was full
  uint64_t full_bytes_ = 0;      // were allocated when the device was full
  AllocationCourse course_;
  bool has_ended_ = false;  // and something is parked still
  bool was_full_ = false;   // since the quiet time began
  std::atomic<bool> advances_{false};
};

}  // namespace vramstow

#endif  // VRAMSTOW_ALLOCATOR_OFFLOAD_QUIET_MOVES_H_
