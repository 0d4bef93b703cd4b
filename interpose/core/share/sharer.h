// Sharer lets this process share its GPU with other processes of vramstow, by turns (--share).
//
// Idea: a thread writes into a table what this process holds and lacks, reads the same of all other
// processes, and follows the rules of base/share_turns.h. While it is another process's turn and
// memory is lacking, the thread closes the TurnGate and pauses memory of the pool: it moves to the
// host, and comes back at the same address. Requests for which the device has no room wait in a
// RoomRequest until others have made room.
//
// Ownership: static storage; the thread is never joined. Threads: Start from any, Stop at the end
// of the process, AbandonAfterFork in a forked child. Errors: without a table the process does not
// share, and says so once. Units: bytes, nanoseconds. Only the device of the first pool is shared.
#ifndef VRAMSTOW_INTERPOSE_CORE_SHARE_SHARER_H_
#define VRAMSTOW_INTERPOSE_CORE_SHARE_SHARER_H_

#include <atomic>
#include <cstdint>

#include "base/options.h"
#include "base/share_table.h"
#include "interpose/core/runtime/core.h"
#include "interpose/core/share/movable_memory.h"
#include "interpose/core/share/turn_clock.h"
#include "interpose/core/share/turn_figures.h"
#include "interpose/core/share/waiting_requests.h"

namespace vramstow {

class Sharer {
 public:
  struct Links {
    const Process& process;
    const Driver& driver;
    Trace& trace;
    Pools& pools;
    TurnGate& gate;
    RoomRequest& requests;
  };

  constexpr explicit Sharer(const Links& links)
      : links_(links),
        memory_(links.pools),
        requests_(links.requests),
        clock_(links.driver, memory_, table_) {}
  Sharer(const Sharer&) = delete;
  Sharer& operator=(const Sharer&) = delete;

  // Makes the thread when the first pool exists and the user asked for sharing.
  void Start();
  // Called when the process ends: opens the gate and leaves the table. The thread has left the
  // driver when this returns, or does not return from it within a moment.
  void Stop();
  // Pauses the process, or ends that: work that it submits waits, and its memory moves when others
  // lack memory. A process that ends does not stay paused. Waits up to a second until the pause has
  // begun. Returns false if the process does not share its GPU.
  bool SetPaused(bool paused);
  // The figures of this process; they are read without the table's lock.
  const TurnFigures& figures() const { return figures_; }
  // Forgets the thread and the table, which belong to the parent. Async-signal-safe.
  void AbandonAfterFork();

 private:
  enum class State : uint8_t { kNone, kStarting, kRunning, kStopped };

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
  };
  using Figures = MovableMemory::Figures;

  static void* Run(void* self);
  bool OpenTable();
  void Loop();
  bool HasFailedForLong();
  void Withdraw();
  void DescribeTurns();

  bool IsIdle();
  bool IsPaused() const;
  uint64_t LeastUsedTime() const;
  void Publish(const Figures& figures);

  View ReadTable();
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
  ShareSetting setting_;
  ShareTable table_;
  MovableMemory memory_;
  WaitingRequests requests_;
  TurnClock clock_;
  TurnFigures figures_;
  uint64_t group_ = 0;
  uint64_t card_ = 0;  // the number of our GPU in the table
  char card_name_[kDeviceUuidBytes] = {};
  uint64_t measured_at_ns_ = 0;
  uint64_t ticked_at_ns_ = 0;
  uint64_t submissions_ = 0;  // at the last change
  uint64_t submitted_at_ns_ = 0;
  // Until when the gate stays open although memory should leave, because work did not end; and for
  // how long that was.
  uint64_t open_until_ns_ = 0;
  uint64_t pause_ns_ = 0;
  uint64_t stuck_bytes_ = 0;     // memory that could not move
  uint64_t stuck_until_ns_ = 0;  // when that is tried again
  uint64_t stuck_ns_ = 0;        // how long that is
  // When the driver last failed to bring memory back, and for how long it has failed.
  uint64_t failed_at_ns_ = 0;
  uint64_t failed_ns_ = 0;
  std::atomic<State> state_{State::kNone};
  std::atomic<bool> busy_{false};
  std::atomic<bool> is_ending_{false};  // the process ends, and waits for its memory
  std::atomic<bool> is_paused_{false};  // the user wants it
  // True if memory of this process is on the host, or is about to leave.
  std::atomic<bool> is_away_{false};
};

}  // namespace vramstow

#endif  // VRAMSTOW_INTERPOSE_CORE_SHARE_SHARER_H_
