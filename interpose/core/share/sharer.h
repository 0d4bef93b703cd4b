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

  constexpr explicit Sharer(const Links& links) : links_(links) {}
  Sharer(const Sharer&) = delete;
  Sharer& operator=(const Sharer&) = delete;

  // Makes the thread when the first pool exists and the user asked for sharing.
  void Start();
  // Called when the process ends: opens the gate and leaves the table. The thread has left the
  // driver when this returns, or does not return from it within a moment.
  void Stop();
  // Forgets the thread and the table, which belong to the parent. Async-signal-safe.
  void AbandonAfterFork();

 private:
  enum class State : uint8_t { kNone, kStarting, kRunning, kStopped };

  // What this process has to do now.
  struct Duty {
    bool is_known = false;      // false if the table could not be read; then nothing changes
    bool is_contended = false;  // some process lacks memory
    bool is_holder = false;     // it is the turn of this process
    bool must_wait = false;

    bool must_return = false;  // memory on the host can come back now
    uint64_t move_bytes = 0;
    enum class Answer : uint8_t { kNone, kGrant, kRefuse } answer = Answer::kNone;
  };
  struct Figures {
    uint64_t resident_bytes = 0;
    uint64_t away_bytes = 0;
    uint64_t free_bytes = 0;
    uint64_t total_bytes = 0;
  };

  static void* Run(void* self);
  bool OpenTable();
  void Loop();
  Figures Measure() const;
  bool IsIdle();
  uint64_t LeastUsedTime() const;
  void Publish(const Figures& figures);
  Duty Decide(const Figures& figures);
  void HandOver(uint64_t next, uint64_t stalled_ns);
  void LimitPools(const Figures& figures);
  uint64_t StalledTime(const ShareCard& card, uint64_t lacking);
  Duty::Answer AnswerTo(const ShareCard& card, const ShareMember* members, size_t count,
                        const Figures& figures);
  bool GiveUp(const Duty& duty);
  void KeepOpen();
  uint64_t CardTime() const;  // by the clock of the GPU
  void NoteTurn();
  bool Act(const Duty& duty);
  bool MoveOut(uint64_t bytes);
  void JoinCardTime();
  bool MoveBack();
  void BeginTurn(bool is_holder);
  void DescribeTurns();
  template <typename Visit>
  void VisitPools(Visit visit) const;

  const Links links_;
  ShareSetting setting_;
  ShareTable table_;
  uint64_t group_ = 0;
  int16_t device_ = 0;

  // Until when the gate stays open although memory should leave, because work did not end; and for
  // how long that was.
  uint64_t open_until_ns_ = 0;
  uint64_t pause_ns_ = 0;
  uint64_t measured_at_ns_ = 0;
  uint64_t unservable_since_ns_ = 0;  // 0 if the waiting requests can be served
  uint64_t stuck_bytes_ = 0;          // memory that could not be paused since the last own turn
  uint64_t stuck_until_ns_ = 0;       // when that is tried again
  uint64_t submissions_ = 0;          // at the last change
  uint64_t submitted_at_ns_ = 0;
  uint64_t in_ns_ = 0;               // how long memory took to return for the present turn
  uint64_t turn_began_ns_ = 0;       // by the GPU's clock; 0 outside an own turn
  uint64_t granted_bytes_ = 0;       // of granted requests that were not served yet
  uint64_t granted_from_bytes_ = 0;  // resident bytes when they were granted
  uint64_t granted_until_ns_ = 0;
  uint64_t requested_at_ns_ = 0;  // when the oldest waiting request was first seen; 0 if none waits
  uint64_t ticked_at_ns_ = 0;
  std::atomic<State> state_{State::kNone};
  std::atomic<bool> busy_{false};
  std::atomic<bool> is_ending_{false};  // the process ends, and waits for its memory
  std::atomic<bool> is_away_{false};    // memory of this process is on the host
};

}  // namespace vramstow

#endif  // VRAMSTOW_INTERPOSE_CORE_SHARE_SHARER_H_
