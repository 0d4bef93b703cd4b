// DeviceTurns shares one GPU of this process with other processes of vramstow, by turns (--share).
//
// Idea: it writes into a table what this process holds and lacks on the GPU, reads the same of all
// other processes, and follows the rules of base/share_turns.h. While it is another process's turn
// and memory is lacking, it closes the TurnGate and pauses memory of the pools: it moves to the
// host, and comes back at the same address. Requests for which the GPU has no room wait in a
// RoomRequest until others have made room.
//
// Ownership: static storage. Threads: Open from any, everything else from the sharer's, except what
// says otherwise. Errors: without a table the process does not share the GPU, and says so once.
// Units: bytes, nanoseconds.
#ifndef VRAMSTOW_INTERPOSE_CORE_SHARE_DEVICE_TURNS_H_
#define VRAMSTOW_INTERPOSE_CORE_SHARE_DEVICE_TURNS_H_

#include <atomic>
#include <cstdint>

#include "base/options.h"
#include "base/share_table.h"
#include "interpose/core/pools/room_request.h"
#include "interpose/core/runtime/core.h"
#include "interpose/core/share/movable_memory.h"
#include "interpose/core/share/shared_card.h"
#include "interpose/core/share/turn_clock.h"
#include "interpose/core/share/turn_figures.h"
#include "interpose/core/share/waiting_requests.h"

namespace vramstow {

// What the user and the process want of all GPUs.
struct SharingIntent {
  std::atomic<bool> is_ending{false};  // the process ends, and waits for its memory
  std::atomic<bool> is_paused{false};  // the user wants it
  // Until when the gate stays open although memory should leave, because work did not end. Work on
  // one GPU may wait for work on another one.
  std::atomic<uint64_t> open_until_ns{0};
};

class DeviceTurns {
 public:
  struct Links {
    const Driver& driver;
    Trace& trace;
    Pools& pools;
    TurnGate& gate;
    RoomRequests& requests;
    SharingIntent& intent;
  };
  // What the process has done on this GPU.
  struct Account {
    ShareSlot slot = {};
    TurnClock::Sums sums = {};
  };
  struct Progress {
    bool has_changed = false;   // something, so that the table should be read again at once
    bool is_contended = false;  // some process lacks memory
  };

  constexpr DeviceTurns(const Links& links, int number)
      : links_(links),
        number_(number),
        memory_(links.pools, number),
        requests_(*links.requests.OrNull(number)),
        clock_(links.driver, memory_, table_) {}
  DeviceTurns(const DeviceTurns&) = delete;
  DeviceTurns& operator=(const DeviceTurns&) = delete;

  // Takes a place in the table, unless this has been tried before. Any thread may call it.
  void Open(const ShareSetting& setting, uint64_t group);
  // True from Open until Close, or until sharing has failed. Any thread may call it.
  bool is_open() const { return state_.load(std::memory_order_seq_cst) == State::kOpen; }
  int number() const { return number_; }
  // Does once what the rules demand.
  Progress Follow();
  // Refuses waiting requests, opens the gate and leaves the table. `has_ended` is true if no thread
  // is in Follow. Any thread may call it.
  // Returns false if it was closed before.
  bool Close(bool has_ended);
  // True while memory of this process is on the host, or is about to leave. Any thread may call it.
  bool is_away() const { return is_open() && is_away_.load(std::memory_order_seq_cst); }
  // True if the table was read once, with all figures. Any thread may call it.
  bool has_told() const { return has_told_.load(std::memory_order_acquire); }
  // What was done until Close; empty if this GPU was not shared.
  const Account& account() const { return account_; }
  // The figures of this process; any thread reads them without the table's lock.
  const TurnFigures& figures() const { return figures_; }
  // The table, for its functions that need no lock.
  ShareTable& table() { return table_; }
  // Forgets the table, which belongs to the parent. Async-signal-safe.
  void AbandonAfterFork();

 private:
  bool HasTable();

  enum class State : uint8_t { kNone, kOpening, kOpen, kClosed };

  // What this process has to do now.
  struct Duty {
    bool is_known = false;      // false if the table could not be read; then nothing changes
    bool is_contended = false;  // some process lacks memory
    bool is_holder = false;     // it is the turn of this process
    bool has_room = false;      // the GPU has all that the group lacks, and the group may take it
    bool must_wait = false;
    uint64_t move_bytes = 0;
    uint64_t return_bytes = 0;  // memory on the host that can come back now
    WaitingRequests::Answer answer = WaitingRequests::Answer::kNone;
  };
  // What the table says at one moment.
  struct View {
    ShareTurn turn = {};
    ShareMember members[kMaxSharers] = {};
    size_t slots[kMaxSharers] = {};  // the slot of each member
    size_t count = 0;
    size_t self = 0;           // the index of this process in `members`
    bool is_listed = false;    // this process is in `members`
    bool is_fresh = true;      // all figures of our GPU are newer than the oldest waiting request
    uint64_t heard_at_ns = 0;  // when the holder published last
    // When that member of the holder published last that lacks memory and has been silent longest.
    uint64_t lacking_heard_at_ns = ~uint64_t{0};
  };
  using Figures = MovableMemory::Figures;

  bool OpenTable();
  bool HasFailedForLong();
  void Withdraw();

  bool IsIdle();
  bool IsPaused() const;
  void Publish(const Figures& figures);
  void RecordState(ShareState state);

  View ReadTable(uint64_t live);
  void UpdateHolder(View* view);
  uint64_t StalledTime(uint64_t shortfall);
  void HandOver(const View& view, uint64_t next);
  void LimitPools(const Figures& figures, const View& view, uint64_t return_bytes);
  Duty Decide(const Figures& figures);

  bool Act(const Duty& duty);
  bool GiveUp(uint64_t bytes);
  void KeepOpen();
  void BeginTurn(bool is_holder);
  bool MoveOut(uint64_t bytes);
  bool MoveBack(uint64_t bytes);

  const Links links_;
  const int number_;  // of the GPU; also of this part of the gate
  ShareSetting setting_;
  ShareTable table_;
  MovableMemory memory_;
  WaitingRequests requests_;
  TurnClock clock_;
  TurnFigures figures_;
  RoomForGrowth room_for_growth_;
  RecentMinimum reachable_;
  uint64_t group_ = 0;
  SharedCard card_;
  uint64_t opened_at_ns_ = 0;
  uint64_t measured_at_ns_ = 0;
  uint64_t ticked_at_ns_ = 0;
  uint64_t submissions_ = 0;     // at the last change
  uint64_t active_at_ns_ = 0;    // when work was last submitted, or waited, or could begin
  uint64_t pause_ns_ = 0;        // for how long the gate last stayed open because work did not end
  uint64_t stuck_bytes_ = 0;     // memory that could not move
  uint64_t stuck_until_ns_ = 0;  // when that is tried again
  uint64_t stuck_ns_ = 0;        // how long that is
  // When the driver last failed to bring memory back, and for how long it has failed.
  uint64_t failed_at_ns_ = 0;
  uint64_t failed_ns_ = 0;
  bool is_lost_ = false;  // the table's file was removed
  ShareState recorded_state_ = ShareState::kRuns;
  Account account_;
  std::atomic<State> state_{State::kNone};
  std::atomic<bool> has_told_{false};
  // True if memory of this process is on the host, or is about to leave.
  std::atomic<bool> is_away_{false};
};

}  // namespace vramstow

#endif  // VRAMSTOW_INTERPOSE_CORE_SHARE_DEVICE_TURNS_H_
